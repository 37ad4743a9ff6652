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
from threading import Lock
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


class _Telemetry:
    """The variables while libraries are loaded: the first import sets them, and the last that ends puts them back."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._imports = 0
        self._before: dict[str, str | None] = {}

    def off(self) -> None:
        """Set the variables, and keep what they were before the first import."""
        with self._lock:
            if not self._imports:
                self._before = {name: os.environ.get(name) for name in NO_TELEMETRY}
                os.environ.update(NO_TELEMETRY)
            self._imports += 1

    def restore(self) -> None:
        """Put the variables back, unless another import still runs."""
        with self._lock:
            self._imports -= 1
            if self._imports:
                return
            for name, value in self._before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


_TELEMETRY = _Telemetry()


@contextmanager
def without_telemetry() -> Iterator[None]:
    """Set the variables for the time of an import, and leave the environment as it was. Imports may overlap."""
    _TELEMETRY.off()
    try:
        yield
    finally:
        _TELEMETRY.restore()
