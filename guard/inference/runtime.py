"""Import the libraries that run a model, with their telemetry switched off.

onnxruntime reads its variable when it is loaded. Without it, it writes an identifier of the device and a queue of
events below the user's cache, and uploads the events some seconds later. Its function ``disable_telemetry_events``
comes too late for the identifier, and stops the events of a process that had loaded the library before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["NO_TELEMETRY", "onnx_runtime", "onnx_session", "without_telemetry"]

#: Variables that switch telemetry off: of onnxruntime, and of the hub's client, which fastembed loads.
NO_TELEMETRY: Mapping[str, str] = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}


def onnx_runtime() -> Any:
    """Import and return the module onnxruntime."""
    with without_telemetry():
        import onnxruntime

    # Versions without telemetry lack the function.
    getattr(onnxruntime, "disable_telemetry_events", lambda: None)()
    return onnxruntime


def onnx_session(path: Path) -> Any:
    """Load the model in *path*, and return its session. One thread runs it, so that results never differ.

    Raises:
        Exception: onnxruntime cannot load the file. Its errors have no narrower class.
    """
    library = onnx_runtime()
    options = library.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return library.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@contextmanager
def without_telemetry() -> Iterator[None]:
    """Set the variables for the time of an import, and leave the environment as it was."""
    before = {name: os.environ.get(name) for name in NO_TELEMETRY}
    os.environ.update(NO_TELEMETRY)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
