"""A served home with private files, and tokens for each audience and scope."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from agent_home.home import Home
from agent_home.settings import MANIFEST
from agent_home.store import transcript
from agent_home.store.transcript import Message
from interfaces.api import AgentHome
from interfaces.service.http.callers import Caller
from interfaces.service.http.tokens import tokens
from tests.conftest import NOW
from tests.consenting import agree
from tests.interfaces.service.running_service import (
    PATIENCE_S,
    RunningService,
)

OWNER = "owner"


OTHERS = ("trusted", "group", "job")


#: Words that stand in files and entries of the owner's alone, and nowhere else.
SECRETS = ("zanzibarite", "quokkafest", "vermilionish", "brontofacts", "wumpusday", "tatterdemalion")


@dataclass(frozen=True, slots=True)
class Served:
    """A served home with private files, its entries by name, and a token for each audience and scope."""

    home: Home
    service: RunningService
    tokens: Mapping[str, str]
    entries: Mapping[str, str]
    http: httpx.Client

    def ask(self, method: str, path: str, *, token: str = OWNER, **request: Any) -> httpx.Response:
        """Ask with the token called *token*."""
        headers = {"Authorization": f"Bearer {self.tokens[token]}", **request.pop("headers", {})}
        return self.http.request(method, path, headers=headers, **request)

    def lead(self, name: str) -> str:
        """Return the beginning of the names of sessions of the token called *name*."""
        return lead_of(self.home, name)

    def memory(self) -> str:
        return (self.home.root / "MEMORY.md").read_text()


def lead_of(home: Home, name: str) -> str:
    """Return the beginning of the names of sessions of the token called *name* of *home*."""
    token = next(token for token in tokens(home) if token.name == name)
    return Caller(name=name, home=home, scopes=token.scopes, audience=token.audience, key=token.digest).lead


def owner_only(manifest: Path) -> None:
    """Take the files that tell of the owner from every audience but the owner's."""
    blocks = manifest.read_text().split("[[context]]")
    for number, block in enumerate(blocks):
        if any(f'file = "{name}.md"' in block for name in ("MEMORY", "USER", "EVOLUTION")):
            blocks[number] = re.sub(r"audiences = \[.*\]", 'audiences = ["owner"]', block)
    manifest.write_text(
        "[[context]]".join(blocks) + '\n[audiences]\n"Knowledge/private/" = []\n"DailyActivity/" = []\n'
    )


def make_home(root: Path) -> dict[str, str]:
    """Fill the home *root* with private and public things. Return the ids of entries."""
    owner_only(root / MANIFEST)
    home = agree(Home(root))
    (root / "Knowledge/private").mkdir(parents=True, exist_ok=True)
    (root / "Knowledge/private/plan.md").write_text(f"# Plan\n\nThe {SECRETS[1]} plan of the harbour.\n")
    (root / "Knowledge/harbour.md").write_text("# Harbour\n\nThe harbour opens at six.\n")
    (root / "USER.md").write_text((root / "USER.md").read_text() + f"\n- Lives near the {SECRETS[2]} harbour.\n")
    (root / "Archive").mkdir(exist_ok=True)
    agent = AgentHome(home)
    said = f"Preference: book the {SECRETS[3]} harbour tour early."
    turn = Message(session="private-talk", id="m1", ts="2026-11-20T10:00:00", role="user", name="Ada", content=said)
    transcript.append(home, "private-talk", [turn], actor="test", now=NOW)
    notes = {
        "mine": agent.remember(
            f"The {SECRETS[0]} harbour code is blue", kind="fact", origin="user", tags=["harbour"], now=NOW
        ),
        "wish": agent.remember(f"Always praise the {SECRETS[5]} harbour", kind="preference", origin="user", now=NOW),
        "agents": agent.remember("The tide table is outdated", kind="lesson", origin="agent", now=NOW),
    }  # fmt: skip
    return {name: note.id for name, note in notes.items()}


def finished(served: Served, answer: httpx.Response, token: str) -> httpx.Response:
    """Return the answer about the job that *answer* began, as soon as it has ended."""
    end = time.monotonic() + PATIENCE_S
    while (job := served.ask("GET", answer.headers["location"], token=token)).status_code == 202:
        assert time.monotonic() < end
        time.sleep(0.02)
    return job


def is_error(answer: httpx.Response, status: int) -> bool:
    """Return whether *answer* is an error as the document describes it."""
    error = answer.json()
    return answer.status_code == status and set(error) == {"error", "request"} and bool(error["error"])
