"""Own the list of all endpoints, in the order of the OpenAPI document. Those of mem0's client come last."""

from __future__ import annotations

from .entry_endpoints import ENTRY_ENDPOINTS
from .event_endpoints import EVENT_ENDPOINTS
from .mem0 import MEM0_ENDPOINTS
from .namespaces.endpoints import NAMESPACE_ENDPOINTS
from .operation_endpoints import OPERATION_ENDPOINTS
from .output_endpoints import OUTPUT_ENDPOINTS
from .session_endpoints import SESSION_ENDPOINTS

__all__ = ["ALL_ENDPOINTS", "ENDPOINTS"]

ENDPOINTS = (
    *ENTRY_ENDPOINTS, *SESSION_ENDPOINTS, *OUTPUT_ENDPOINTS, *EVENT_ENDPOINTS, *OPERATION_ENDPOINTS,
    *NAMESPACE_ENDPOINTS,
)  # fmt: skip
ALL_ENDPOINTS = (*ENDPOINTS, *MEM0_ENDPOINTS)
