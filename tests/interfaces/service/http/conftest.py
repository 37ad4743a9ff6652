"""One served home for the tests of endpoints."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from agent_home.home import Home
from interfaces.service.http.tokens import SCOPES, add_token
from tests.conftest import NOW, FolderCopy
from tests.interfaces.service.http.served_home import (
    OTHERS,
    Served,
    make_home,
)
from tests.interfaces.service.running_service import (
    PATIENCE_S,
    environment,
    running,
    until,
)


@pytest.fixture(scope="module")
def served(_pattern_home: FolderCopy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("endpoints") / "home"
    _pattern_home.write(root)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        patch.setattr("interfaces.indexing.MAX_VECTORS", 0)
        entries = make_home(root)
        home = Home(root)
        audiences = {"owner": "owner", **dict.fromkeys(OTHERS, "")}
        tokens = {
            name: add_token(home, name, scopes=SCOPES, audience=name, now=NOW, namespaces=["n1"]) for name in audiences
        } | {
            scope: add_token(home, scope, scopes=(scope,), audience="owner", now=NOW) for scope in SCOPES
        } | {
            f"no-{scope}": add_token(
                home, f"no-{scope}", scopes=[other for other in SCOPES if other != scope], audience="owner", now=NOW
            )
            for scope in SCOPES
        }  # fmt: skip
        with (
            running(root, http=True) as service,
            httpx.Client(base_url=service.url, timeout=PATIENCE_S, trust_env=False) as client,
        ):
            until("the port answers", lambda: client.get("/health").status_code == 200)
            yield Served(home, service, tokens, entries, client)
