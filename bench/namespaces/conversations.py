"""Read conversations of the evaluation data as exchanges of a namespace."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from distill.namespaces.recording import SaidExchange

__all__ = ["AskedQuestion", "exchanges_of", "golds_of", "questions_of", "sessions_of", "turns_of"]

#: Between the ids of the turns of one exchange.
_JOIN = "+"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question and the addresses of the turns that answer it."""

    query: str
    gold: frozenset[str]


def sessions_of(transcript: Path) -> list[list[SaidExchange]]:
    """Return the sessions of a transcript by the time of their first turn. Two turns of two roles are an exchange."""
    rows = sorted(_rows(transcript), key=lambda row: (row["session"], _said(row)))
    sessions = [list(_exchanges(list(group))) for _, group in groupby(rows, key=lambda row: str(row["session"]))]
    return sorted(sessions, key=lambda session: session[0].said or datetime.min.replace(tzinfo=UTC))


def exchanges_of(transcript: Path) -> list[SaidExchange]:
    """Return the exchanges of all sessions, in the order of the sessions."""
    return [exchange for session in sessions_of(transcript) for exchange in session]


def questions_of(path: Path) -> list[AskedQuestion]:
    """Return the questions of a file that name turns."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return [AskedQuestion(query=row["query"], gold=frozenset(row["expect"])) for row in rows if row["expect"]]


def golds_of(path: Path) -> dict[str, frozenset[str]]:
    """Return the turns that answer each question which is itself a turn, by the address of that turn."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {row["turn"]: frozenset(row["expect"]) for row in rows if row.get("turn") and row["expect"]}


def turns_of(source: str) -> set[str]:
    """Return the addresses of the turns of the exchange at *source*."""
    session, _, ids = source.rpartition("#")
    return {f"{session}#{one}" for one in ids.split(_JOIN)}


def _rows(transcript: Path) -> Iterator[dict[str, Any]]:
    data = transcript.read_bytes()
    text = (gzip.decompress(data) if transcript.suffix == ".gz" else data).decode("utf-8")
    yield from map(json.loads, text.splitlines())


def _exchanges(rows: Sequence[dict[str, Any]]) -> Iterator[SaidExchange]:
    at = 0
    while at < len(rows):
        first = rows[at]
        pair = rows[at : at + 2] if first["role"] == "user" else rows[at : at + 1]
        pair = pair if len(pair) == 2 and pair[1]["role"] == "assistant" else pair[:1]
        at += len(pair)
        user = next((row for row in pair if row["role"] == "user"), None)
        agent = next((row for row in pair if row["role"] == "assistant"), None)
        if not any(row["content"].strip() for row in pair):
            continue
        yield SaidExchange(
            user_input=user["content"] if user else "", ai_output=agent["content"] if agent else "",
            session=first["session"], message_id=_JOIN.join(row["id"] for row in pair),
            user_name=user["name"] if user else "", agent_name=agent["name"] if agent else "", said=_said(first),
        )  # fmt: skip


def _said(row: dict[str, Any]) -> datetime:
    found = datetime.fromisoformat(row["ts"])
    return found if found.tzinfo else found.replace(tzinfo=UTC)
