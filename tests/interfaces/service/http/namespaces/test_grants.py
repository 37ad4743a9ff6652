"""Test which namespaces a token may use: none by default."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_home.home import Home
from interfaces.service.http.namespaces.grants import checked_grants, grants_namespace
from interfaces.service.http.tokens import TokenInvalid, add_token, find_token
from recall.namespaces.errors import NamespaceRefused


@pytest.mark.parametrize(
    ("grants", "name", "granted"),
    [
        ((), "crew-1", False),
        (("crew-1",), "crew-1", True),
        (("crew-1",), "crew-10", False),
        (("crew-1",), "CREW-1", False),
        (("crew-*",), "crew-1", True),
        (("crew-*",), "crew", False),
        (("crew-*",), "a-crew-1", False),
        (("a", "crew-*"), "a", True),
        (("*",), "anything", True),
        (("crew-1",), "cr\u0435w-1", False),
    ],
)
def test_a_grant_is_a_name_or_the_beginning_of_names(grants: tuple[str, ...], name: str, granted: bool) -> None:
    assert grants_namespace(grants, name) is granted


@pytest.mark.parametrize("grant", ["", "a b", "crew-**", "a/*", "*a"])
def test_what_no_namespace_is_called_is_no_grant(grant: str) -> None:
    with pytest.raises(NamespaceRefused):
        checked_grants([grant])


def test_a_token_keeps_its_namespaces_and_an_older_record_has_none(home: Home, now: datetime) -> None:
    made = add_token(home, "crew", scopes=("read",), audience="job", now=now, namespaces=["crew-*", "x", "x"])
    plain = add_token(home, "plain", scopes=("read",), audience="job", now=now)
    found = [find_token(home, token) for token in (made, plain)]
    assert [one.namespaces for one in found if one] == [("crew-*", "x"), ()]
    with pytest.raises(TokenInvalid, match="cannot be named so"):
        add_token(home, "bad", scopes=("read",), audience="job", now=now, namespaces=["a b"])
