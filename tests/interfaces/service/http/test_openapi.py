"""Test that the OpenAPI document describes what the service answers, and that it is complete in itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Route

from agent_home.home import Home
from interfaces.service.http.activity import Activity
from interfaces.service.http.app import application
from interfaces.service.http.callers import Callers
from interfaces.service.http.endpoint_table import ALL_ENDPOINTS, ENDPOINTS
from interfaces.service.http.openapi import document
from tests.interfaces.service.running_service import ask_app, made_app

#: Paths of the socket alone, and the document itself.
NOT_DESCRIBED = {"/address", "/command", "/stop", "/openapi.json"}


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return document(ALL_ENDPOINTS)


def operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def references(part: Any) -> Iterator[str]:
    """Yield every reference in *part*."""
    for value in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from references(value)
    if isinstance(part, dict) and isinstance(part.get("$ref"), str):
        yield part["$ref"]


def test_the_document_lists_exactly_the_routes_of_the_application(home: Home, described: dict[str, Any]) -> None:
    app = application(Callers({"/s": home}), Activity(0))
    routes = {
        (route.path, method)
        for route in app.routes
        if isinstance(route, Route) and route.path not in NOT_DESCRIBED
        for method in (route.methods or {"GET"}) - {"HEAD"}
    }
    assert {(path, method.upper()) for path, method, _ in operations(described)} == routes
    assert len(routes) > len(ENDPOINTS)


def test_the_application_answers_the_document_without_a_token(home: Home, described: dict[str, Any]) -> None:
    answer = ask_app(made_app(home), "GET", "/openapi.json")
    assert answer.status_code == 200
    assert answer.json() == json.loads(json.dumps(described))


def test_every_reference_leads_to_a_schema(described: dict[str, Any]) -> None:
    found = set(references(described))
    assert found == {"#/components/schemas/Error"}
    assert set(described["components"]["schemas"]) == {"Error"}


def test_the_names_of_operations_are_unique(described: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(described)]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in names)


def test_every_parameter_of_a_path_is_described(described: dict[str, Any]) -> None:
    for path, _, operation in operations(described):
        named = {item["name"] for item in operation.get("parameters", ()) if item["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path))


def test_every_body_and_query_has_the_fields_of_its_shape(described: dict[str, Any]) -> None:
    for endpoint in ALL_ENDPOINTS:
        if endpoint.body is None:
            continue
        fields = set(endpoint.body.model_fields)
        for method in endpoint.methods:
            operation = described["paths"][endpoint.path][method.lower()]
            if method == "GET":
                assert {item["name"] for item in operation["parameters"] if item["in"] == "query"} == fields
            else:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                assert set(schema["properties"]) == fields
                assert schema["additionalProperties"] is False


def test_every_operation_names_its_scope_and_the_answers_to_wrong_requests(described: dict[str, Any]) -> None:
    scopes = {(item.path, method.lower()): item.scope for item in ALL_ENDPOINTS for method in item.methods}
    for path, method, operation in operations(described):
        if path == "/health":
            assert operation["security"] == []
            continue
        assert f"`{scopes[path, method]}`" in operation["description"]
        assert {"401", "403", "413", "429", "500"} <= set(operation["responses"])
