"""Import fastembed, with the telemetry of its libraries switched off."""

from __future__ import annotations

from typing import Any

from guard.inference.runtime import onnx_runtime, without_telemetry

__all__ = ["text_embedding"]


def text_embedding() -> Any:
    """Import fastembed and return its class ``TextEmbedding``."""
    onnx_runtime()
    with without_telemetry():
        from fastembed import TextEmbedding

    return TextEmbedding
