"""Own the JSON shapes of results. The command line, HTTP, MCP and the other doors give the same ones."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_home.backup.making import BackupReport
    from agent_home.backup.restoring import RestoredHome
    from agent_home.backup.verification import VerifiedBackup
    from agent_home.checkpoints.checkpoint import Checkpoint
    from agent_home.events.event import LoggedEvent
    from agent_home.imports import ImportReport
    from agent_home.outputs.entry import StoredOutput
    from agent_home.outputs.pruning import PrunedOutputs
    from agent_home.outputs.reading import OutputStats
    from agent_home.store.lineage import Lineage
    from assembler.receipt import Receipt
    from distill.closing_result import Closed, ClosingFailure
    from distill.entries.citation import Cited
    from distill.entries.notes import Finished, Remembered
    from distill.namespaces.forgetting import ForgottenMemories
    from distill.namespaces.processing import ProcessedMessages
    from distill.namespaces.promotion import NamespacePromotion
    from distill.namespaces.recording import RecordedExchange
    from distill.namespaces.schedule import DueRun
    from distill.reading.model_reader import ModelUse
    from distill.review.queue import ReviewItem
    from recall.hot_state import HotItem
    from recall.index.migration import IndexMove
    from recall.index.postgresql.stored_indexes import StoredIndex
    from recall.namespaces.registry import NamespaceCounts
    from recall.namespaces.retrieval import RetrievedMemories
    from recall.search.hybrid import Hit, SearchResult

    from .doctor.store_report import StoresReport
    from .folder_status import FolderStatusFile
    from .home_status import HomeStatus
    from .memory_markers import IngestedMarkers

__all__ = [
    "backup_answer",
    "checkpoint_answer",
    "cited_answer",
    "closed_all_answer",
    "closed_answer",
    "content_answer",
    "damage_answer",
    "due_run_answer",
    "event_answer",
    "finished_answer",
    "forgotten_answer",
    "hot_item_answer",
    "imported_answer",
    "index_move_answer",
    "ingested_answer",
    "lineage_answer",
    "namespace_promotion_answer",
    "namespace_stats_answer",
    "output_answer",
    "output_stats_answer",
    "processed_answer",
    "prompt_answer",
    "pruned_answer",
    "recorded_answer",
    "remembered_answer",
    "restored_answer",
    "retrieved_answer",
    "search_answer",
    "status_answer",
    "status_file_answer",
    "stores_answer",
    "waiting_answer",
]

#: Keys of a closing whose lists are concatenated over several sessions.
_LISTS = (
    "entries",
    "merged",
    "superseded",
    "changed",
    "claims",
    "proposed",
    "restored",
    "learned",
    "projects",
    "quarantine",
)


#: Keys of a prompt's receipt for other audiences. The rest names files, entries and passages that they may not know of.
_SHOWN_TO_OTHERS = ("text", "tokens", "budget", "tier", "window", "sha256", "stable_prefix_tokens")


def prompt_answer(receipt: Receipt, audience: str) -> dict[str, Any]:
    """Return a prompt and its explanation, or for another *audience* than the owner the prompt and its figures."""
    answer = receipt.as_dict()
    return answer if audience == "owner" else {key: answer[key] for key in _SHOWN_TO_OTHERS}


def search_answer(result: SearchResult, degraded: Sequence[str]) -> dict[str, Any]:
    """Return the hits of a search, best first, and which parts of it did not work."""
    return {
        "hits": [_hit(hit) for hit in result.hits],
        "without_words": result.without_words,
        "degraded": list(degraded),
        "ms": round(result.ms, 3),
        "legs": {name: round(ms, 3) for name, ms in result.retriever_ms.items()},
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "source": hit.source,
        "score": round(hit.score, 6),
        "text": hit.text,
        "layer": hit.layer,
        "ts": hit.ts,
        "path": hit.path,
        "session": hit.session,
        "name": hit.name,
        "role": hit.role,
        "heading": hit.heading,
        "parts": {name: round(score, 6) for name, score in hit.parts.items()},
        "also": list(hit.also),
        "state": hit.standing.state if hit.standing else "",
        "status": hit.standing.words if hit.standing else "",
        "superseded_by": (hit.standing and hit.standing.by) or None,
    }


def remembered_answer(done: Remembered, degraded: Sequence[str], *, dry_run: bool = False) -> dict[str, Any]:
    """Return what became of a note."""
    return {
        "id": done.id,
        "section": done.section,
        "text": done.text,
        "known": done.known,
        "superseded": [link.older for link in done.superseded],
        "perhaps_contradicts": list(done.doubted),
        "redacted": done.redacted,
        "quarantined": [item.id for item in done.quarantined],
        "waits": done.waits,
        "dry_run": dry_run,
        "commit": done.commit,
        "degraded": list(degraded),
    }


def output_answer(output: StoredOutput) -> dict[str, Any]:
    """Return an output of a tool without its content."""
    return {
        "id": output.id,
        "ts": output.ts,
        "type": output.type,
        "tags": list(output.tags),
        "directory": output.directory,
        "checkpoint": output.checkpoint,
        "session": output.session,
        "tool": output.tool,
        "command": output.command,
        "exit_code": output.exit_code,
        "author": output.author,
        "bytes": output.length,
        "tokens": output.tokens,
        "lines": output.lines,
        "chunks": len(output.chunks) or 1,
        "binary": output.binary,
        "kind": output.kind,
        "summary": output.summary,
        "failures": [{"name": name, "chunk": chunk} for name, chunk in output.failures],
        "redacted": output.redacted,
        "held": output.held,
    }


def content_answer(content: bytes) -> dict[str, str]:
    """Return the content of an output: a text, or what is no UTF-8 in base64."""
    try:
        return {"content": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"content_base64": base64.b64encode(content).decode()}


def output_stats_answer(found: OutputStats) -> dict[str, Any]:
    """Return counts over outputs of tools."""
    return {
        "outputs": found.outputs,
        "chunks": found.chunks,
        "tokens": found.tokens,
        "bytes": found.bytes,
        "stored_bytes": found.stored_bytes,
        **{name: dict(getattr(found, name).most_common()) for name in ("types", "tools", "tags")},
        "oldest": found.oldest,
        "newest": found.newest,
        "damaged": found.damaged,
    }


def checkpoint_answer(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return a checkpoint."""
    return dataclasses.asdict(checkpoint)


def status_file_answer(found: FolderStatusFile) -> dict[str, Any]:
    """Return what a status file says."""
    return dataclasses.asdict(found) | {
        "path": str(found.path),
        "tasks": [dataclasses.asdict(task) for task in found.tasks],
        "references": [dataclasses.asdict(reference) for reference in found.references],
    }


def event_answer(event: LoggedEvent) -> dict[str, Any]:
    """Return an event of the log."""
    return {
        "event_id": event.id,
        "ts": event.ts,
        "type": event.type,
        "session": event.session,
        "details": dict(event.details),
    }


def hot_item_answer(item: HotItem) -> dict[str, Any]:
    """Return a value of the hot state."""
    return dataclasses.asdict(item)


def pruned_answer(done: PrunedOutputs) -> dict[str, Any]:
    """Return which outputs were dropped, or would be."""
    return {"ids": list(done.ids), "referenced": done.referenced, "bytes": done.bytes, "applied": done.applied}


def finished_answer(finished: Finished, degraded: Sequence[str], *, dry_run: bool = False) -> dict[str, Any]:
    """Return the state of an entry that was marked as done."""
    return {
        "id": finished.id,
        "section": finished.section,
        "text": finished.text,
        "state": finished.state,
        "dry_run": dry_run,
        "commit": finished.commit,
        "degraded": list(degraded),
    }


def cited_answer(done: Cited, degraded: Sequence[str]) -> dict[str, Any]:
    """Return the entries whose use was recorded."""
    return {
        "ids": list(done.ids),
        "restored": list(done.restored),
        "commit": done.commit,
        "degraded": list(degraded),
    }


def closed_answer(closed: Closed) -> dict[str, Any]:
    """Return what one closing wrote."""
    return {
        "session": closed.session,
        "daily": closed.daily,
        "section": f"{closed.daily}#{closed.anchor}" if closed.anchor else "",
        "title": closed.title,
        "entries": [_entry(entry) for entry in closed.entries],
        "merged": [_entry(entry) for entry in closed.merged],
        "superseded": [dataclasses.asdict(link) for link in closed.superseded],
        "changed": [dataclasses.asdict(entry) for entry in closed.changed],
        "claims": [
            {
                "text": claim.text,
                "sources": list(claim.sources),
                "evidence": claim.evidence.state,
                "commit": claim.evidence.commit,
                "detail": claim.evidence.detail,
            }
            for claim in closed.claims
        ],
        "proposed": [dataclasses.asdict(item) for item in closed.proposed],
        "dropped": closed.dropped,
        "redacted": closed.redacted,
        "quarantined": len(closed.quarantined),
        "quarantine": [{"id": item.id, "path": item.path, "reason": item.reason} for item in closed.quarantined],
        "left_in_log": closed.left_in_log,
        "taken_back": closed.taken_back,
        "restored": list(closed.restored),
        "learned": list(closed.learned),
        "projects": list(closed.projects),
        "unowned": list(closed.unowned),
        "reworded": closed.reworded,
        "model": dataclasses.asdict(closed.use) if closed.use else None,
        "commit": closed.commit,
    }


def _entry(entry: Any) -> dict[str, Any]:
    return {
        "id": entry.id,
        "section": entry.section,
        "text": entry.text,
        "sources": list(entry.sources),
        "evidence": entry.evidence,
        "commit": entry.commit,
        "origin": entry.origin,
    }


def closed_all_answer(closed: Sequence[Closed], failed: Sequence[ClosingFailure]) -> dict[str, Any]:
    """Return the keys of one session for all of them together, and each session's own under ``sessions``."""
    rows = [closed_answer(outcome) for outcome in closed]
    last: dict[str, Any] = rows[-1] if rows else {"session": None, "daily": None}
    together = {key: [item for row in rows for item in row[key]] for key in _LISTS}
    return {
        "session": last["session"],
        "daily": last["daily"],
        **together,
        "redacted": sum(row["redacted"] for row in rows),
        "quarantined": sum(row["quarantined"] for row in rows),
        "dropped": sum(row["dropped"] for row in rows),
        "left_in_log": sum(row["left_in_log"] for row in rows),
        "reworded": sum(row["reworded"] for row in rows),
        "model": _together([outcome.use for outcome in closed if outcome.use]),
        "commit": next((row["commit"] for row in reversed(rows) if row["commit"]), None),
        "sessions": rows,
        "failed": [{"session": failure.session, "error": failure.error} for failure in failed],
    }


_SUMS = ("requests", "tokens", "accepted", "proposed", "confirmed")


def _together(uses: Sequence[ModelUse]) -> dict[str, Any] | None:
    """Add up what several closings spent at the model."""
    if not uses:
        return None
    return {
        **{key: sum(getattr(use, key) for use in uses) for key in _SUMS},
        "dropped": [reason for use in uses for reason in use.dropped],
    }


def imported_answer(done: ImportReport) -> dict[str, Any]:
    """Return the counts of an import."""
    return {
        "files": done.files,
        "sessions": len(done.sessions),
        "session_ids": list(done.sessions),
        "messages": done.messages,
        "revised": done.revised,
        "duplicates": done.duplicates,
        "skipped": done.skipped.total(),
        "reasons": dict(sorted(done.skipped.items())),
        "waiting": done.waiting,
        "undated": done.undated,
        "future": list(done.future),
        "redacted": done.redacted,
        "quarantined": len(done.quarantined),
        "quarantine": [item.id for item in done.quarantined],
        "dropped": done.dropped,
        "unusable": [str(path) for path in done.unusable],
        "unread": [{"path": str(file.path), "reason": file.reason} for file in done.unread],
    }


def waiting_answer(item: ReviewItem) -> dict[str, Any]:
    """Return a text that waits for a person."""
    return {**dataclasses.asdict(item), "findings": [dict(finding) for finding in item.findings]}


def ingested_answer(done: IngestedMarkers) -> dict[str, Any]:
    """Return what became of statements that an agent marked as memory."""
    return {
        "ids": list(done.ids), "known": done.known, "waits": done.waits, "held": done.held, "logged": done.logged,
        "empty": done.empty,
    }  # fmt: skip


def lineage_answer(found: Lineage) -> dict[str, Any]:
    """Return where an entry comes from and what became of it."""
    entry = found.entry
    return {
        "id": found.id, "state": found.state, "status": found.words, "archived": found.standing.archived,
        "superseded_by": found.standing.by or None, "ended": found.standing.date or None,
        "reason": found.standing.reason,
        "supersedes": list(found.supersedes), "question": found.question,
        "path": found.path, "text": entry.text if entry else "",
        "events": [dataclasses.asdict(event) for event in found.events],
        "turns": [dataclasses.asdict(turn) for turn in found.turns],
    }  # fmt: skip


def status_answer(status: HomeStatus) -> dict[str, Any]:
    """Return the counts of a home. ``null`` stands for a count that is not for the audience."""
    entries = None if status.sections is None else sum(status.sections.values())
    return {
        "entries": entries,
        "sections": status.sections,
        "ended": status.ended,
        "archived": status.archived,
        "sessions": status.sessions,
        **status.files,
        "waiting_for_a_person": status.waiting,
        "degraded": list(status.degraded),
    }


def backup_answer(report: BackupReport) -> dict[str, Any]:
    """Return a backup that was made or planned. ``bytes`` is the size of all of it."""
    manifest = report.manifest
    return {
        "folder": str(report.folder), "made": manifest.made, "files": len(manifest.files), "new": report.new,
        "unchanged": report.unchanged, "removed": report.removed, "written_bytes": report.written,
        "bytes": manifest.bytes, "mended": report.mended, "repositories": list(manifest.repositories),
        "left_out": [dataclasses.asdict(item) for item in report.left_out],
    }  # fmt: skip


def damage_answer(checked: VerifiedBackup) -> dict[str, Any]:
    """Return a backup that was checked, with every file that is damaged or missing in it."""
    manifest = checked.manifest
    return {
        "name": manifest.name, "made": manifest.made, "files": len(manifest.files), "bytes": manifest.bytes,
        "own": manifest.own, "repositories": list(manifest.repositories), "ok": not checked.damaged,
        "damaged": [dataclasses.asdict(file) for file in checked.damaged],
    }  # fmt: skip


def restored_answer(done: RestoredHome) -> dict[str, Any]:
    """Return a home that was made from a backup. ``own`` is false for a backup of another machine or user."""
    manifest = done.manifest
    return {
        "home": str(done.root), "name": manifest.name, "made": manifest.made, "files": len(manifest.files),
        "bytes": manifest.bytes, "own": manifest.own, "remotes": dict(manifest.remotes),
        "repositories": {
            place: {"submodule": one.name, "url": one.url, "remotes": dict(one.remotes)}
            for place, one in manifest.repositories.items()
        },
        "not_trusted": list(done.not_trusted), "damaged": [dataclasses.asdict(file) for file in done.missing],
    }  # fmt: skip


def stores_answer(report: StoresReport) -> dict[str, Any]:
    """Return where the index and the hot state are. Addresses have no password."""
    return {
        "index": dataclasses.asdict(report.index), "hot_state": report.hot_state, "problems": list(report.problems)
    }  # fmt: skip


def stored_indexes_answer(found: Sequence[StoredIndex], own: str) -> dict[str, Any]:
    """Return the indexes of a database. *own* is the namespace of this home, or empty."""
    return {
        "indexes": [
            {**dataclasses.asdict(one), "made": one.made.isoformat(), "own": one.namespace == own} for one in found
        ]
    }


def index_move_answer(done: IndexMove) -> dict[str, Any]:
    """Return a move of the index, with the counts that both sides have."""
    return {
        "source": done.source, "target": done.target, "namespace": done.namespace, "copied": done.copied,
        "seconds": round(done.seconds, 3), **dataclasses.asdict(done.counts),
    }  # fmt: skip


def recorded_answer(done: RecordedExchange) -> dict[str, Any]:
    """Return what became of an exchange. ``held`` says why the guard holds it back, and is empty otherwise."""
    return dataclasses.asdict(done)


def processed_answer(done: ProcessedMessages) -> dict[str, Any]:
    """Return what was read from messages of a namespace."""
    return {**dataclasses.asdict(done), "degraded": list(done.degraded)}


def retrieved_answer(found: RetrievedMemories) -> dict[str, Any]:
    """Return the memories that a namespace has for a question, and their text for a prompt."""
    return {
        "memories": [
            {**dataclasses.asdict(memory), "said": memory.said.isoformat(), "sources": list(memory.sources)}
            for memory in found.memories
        ],
        "text": found.text, "tokens": found.tokens, "degraded": list(found.degraded), "cached": found.cached,
        "ms": round(found.ms, 3),
    }  # fmt: skip


def namespace_promotion_answer(done: NamespacePromotion) -> dict[str, Any]:
    """Return what a promotion of a namespace did."""
    lists = {name: list(getattr(done, name)) for name in ("promoted", "filled", "archived", "merged")}
    return {**dataclasses.asdict(done), **lists}


def due_run_answer(run: DueRun) -> dict[str, Any]:
    """Return what was done in all namespaces that were due."""
    return {**dataclasses.asdict(run), "failed": list(run.failed)}


def forgotten_answer(done: ForgottenMemories) -> dict[str, Any]:
    """Return what was forgotten in a namespace, or would be."""
    return dataclasses.asdict(done)


def namespace_stats_answer(counts: NamespaceCounts) -> dict[str, Any]:
    """Return what a namespace holds."""
    times = {
        name: value.isoformat() if value is not None else None
        for name, value in (("promoted", counts.promoted), ("promote_after", counts.promote_after))
    }
    return {**dataclasses.asdict(counts), **times, "reads": list(counts.reads), "read_by": list(counts.read_by)}
