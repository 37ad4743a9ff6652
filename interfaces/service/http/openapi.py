"""Make the OpenAPI document of the service from its endpoints and the shapes of their requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from .endpoint import HttpEndpoint

__all__ = ["document"]

_PARAMETER = re.compile(r"\{(\w+)\}")
_PROBLEMS = {
    400: "The body is not JSON",
    401: "No valid bearer token",
    403: "The token has not the scope or the audience, or a web page asks",
    404: "There is no such thing",
    409: "Not possible as things are",
    413: "The body is too large",
    421: "The service does not answer under this host name",
    422: "A value is not as described, or the guard refused the text",
    429: "Too many requests in a minute",
    500: "A defect of the service",
    503: "Another process holds the home, or the disk or git failed. Ask again",
}
_ANSWERS = {200: "Done", 202: "It is being done. Ask `/jobs/{job}`"}


def document(endpoints: Sequence[HttpEndpoint]) -> dict[str, Any]:
    """Return the document: OpenAPI 3.1, with the schema of each request body."""
    paths: dict[str, dict[str, Any]] = {
        "/health": {"get": {"summary": "Whether the service is ready", "security": [], "operationId": "get_health",
                            "responses": {"200": _response("Ready")}}},
    }  # fmt: skip
    for endpoint in endpoints:
        for method in endpoint.methods:
            paths.setdefault(endpoint.path, {})[method.lower()] = _operation(endpoint, method)
    return {
        "openapi": "3.1.0",
        "info": {"title": "agent-home", "version": version("agent-home"), "description": "The memory of an agent."},
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "mem0": {"type": "apiKey", "in": "header", "name": "Authorization", "description": "Token KEY"},
            },
            "schemas": {"Error": _ERROR},
        },
        "security": [{"token": []}],
    }


_ERROR = {
    "type": "object",
    "required": ["error", "request"],
    "properties": {"error": {"type": "string"}, "request": {"type": "string"}},
}


def _operation(endpoint: HttpEndpoint, method: str) -> dict[str, Any]:
    name = re.sub(r"\W+", "_", endpoint.path).strip("_")
    found: dict[str, Any] = {
        "summary": endpoint.summary,
        "description": f"Needs a token with the scope `{endpoint.scope}`.",
        "operationId": f"{method.lower()}_{name}",
        "responses": {
            **{str(status): _answer(endpoint, status) for status in endpoint.statuses},
            **{str(status): _problem(text) for status, text in _PROBLEMS.items() if status not in endpoint.statuses},
        },
    }
    parameters: list[dict[str, Any]] = [
        {"name": part, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for part in _PARAMETER.findall(endpoint.path)
    ]
    if endpoint.body is not None and method == "GET":
        parameters += _query(endpoint)
    elif endpoint.body is not None:
        schema = endpoint.body.model_json_schema(ref_template="#/components/schemas/{model}")
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": _inlined(schema)}}}
    if parameters:
        found["parameters"] = parameters
    if "token" in endpoint.schemes:
        found["security"] = [{"token": []}, {"mem0": []}]
    return found


def _query(endpoint: HttpEndpoint) -> list[dict[str, Any]]:
    """Return the fields of the body as parameters of the query. Lists are separated by commas."""
    assert endpoint.body is not None  # noqa: S101 - asked by the caller
    schema = _inlined(endpoint.body.model_json_schema())
    return [
        {"name": name, "in": "query", "required": name in schema.get("required", ()), "style": "form", "explode": False,
         "schema": field}
        for name, field in schema["properties"].items()
    ]  # fmt: skip


def _inlined(schema: Any, definitions: dict[str, Any] | None = None) -> Any:
    """Return *schema* with the definitions that it refers to in their places."""
    if isinstance(schema, list):
        return [_inlined(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    definitions = schema.get("$defs", {}) if definitions is None else definitions
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {key: _inlined(value, definitions) for key, value in schema.items() if key != "$defs"}


def _answer(endpoint: HttpEndpoint, status: int) -> dict[str, Any]:
    found = _response(_ANSWERS.get(status, _PROBLEMS.get(status, "")))
    if endpoint.text:
        found["content"] = {"text/plain": {"schema": {"type": "string"}}}
    return found


def _response(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": {"type": "object"}}}}


def _problem(text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}
