"""A download that the user allowed, from a hub on this machine: fetched once, then used without any network."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings, build, locate, verify

REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache with the model written from the weights, which the hub serves and the tests compare with."""
    cache = tmp_path_factory.mktemp("built")
    build(EmbeddingSettings(), cache=cache)
    return cache


class Hub(ThreadingHTTPServer):
    """The few answers of a model hub that a download asks for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"}
        self.requests = 0


class _Answers(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing on standard error."""

    def _answer(self, *, body: bool) -> None:
        self.server.requests += 1
        path = urlsplit(self.path).path
        name = path.rpartition("/")[2]
        if "/resolve/" in path and name in self.server.files:
            self._send(200, self.server.files[name], body=body)
        elif "/tree/" in path:
            self._send(200, json.dumps([_entry(*item) for item in self.server.files.items()]).encode(), body=body)
        elif path.startswith("/api/models/"):
            siblings = [{"rfilename": name} for name in self.server.files]
            facts = {"id": "any/model", "sha": REVISION, "siblings": siblings, "tags": [], "private": False}
            self._send(200, json.dumps(facts).encode(), body=body)
        else:
            self._send(404, b"{}", body=body)

    def _send(self, status: int, content: bytes, *, body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "application/json")
        self.send_header("ETag", f'"{hashlib.sha1(content, usedforsecurity=False).hexdigest()}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.end_headers()
        if body:
            self.wfile.write(content)


def _entry(name: str, content: bytes) -> dict[str, Any]:
    oid = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    return {"type": "file", "path": name, "size": len(content), "oid": oid}


@pytest.fixture
def hub(built: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    folder = locate(EmbeddingSettings(), cache=built).folder
    assert folder is not None
    with Hub(folder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr("recall.embedding.model.PACKAGE_MODULE", "a_package_that_nobody_installed")
        yield server
        server.shutdown()
        thread.join()


def test_an_allowed_download_is_fetched_once_and_used_offline(
    hub: Hub, built: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = EmbeddingSettings(download=True, download_timeout_s=60)
    assert (locate(settings, cache=tmp_path).origin, hub.requests) == ("download", 0)
    found = build(settings, cache=tmp_path)
    assert (found.origin, found.ready, found.dimension) == ("download", True, 384)
    asked = hub.requests
    assert asked > 0

    assert build(settings, cache=tmp_path) == locate(EmbeddingSettings(), cache=tmp_path) == found
    assert verify(found) == []
    ours = open_embedder(EmbeddingSettings(), build_missing=False, cache=built)
    fetched = open_embedder(EmbeddingSettings(), build_missing=False, cache=tmp_path)
    assert not isinstance(ours, NoEmbedder)
    assert not isinstance(fetched, NoEmbedder), fetched.reason
    assert np.abs(ours.embed_query("hello") - fetched.embed_query("hello")).max() < 1e-5
    assert ours.fingerprint != fetched.fingerprint
    assert hub.requests == asked, "nothing was asked for after the build"
    assert capfd.readouterr() == ("", "")


def test_a_damaged_download_is_noticed_and_fetched_again(hub: Hub, tmp_path: Path) -> None:
    settings = EmbeddingSettings(download=True, download_timeout_s=60)
    found = build(settings, cache=tmp_path)
    for path in tmp_path.rglob("tokenizer.json"):
        path.write_bytes(b"")
    assert not locate(settings, cache=tmp_path).ready
    asked = hub.requests
    answer = open_embedder(settings, build_missing=True, cache=tmp_path)
    assert isinstance(answer, NoEmbedder)
    assert "damaged" in answer.reason
    assert hub.requests == asked, "only `memory model build` downloads"
    assert build(settings, cache=tmp_path) == found
    assert not isinstance(open_embedder(settings, build_missing=False, cache=tmp_path), NoEmbedder)
