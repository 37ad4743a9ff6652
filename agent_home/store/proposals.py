"""Proposed memory: texts that wait as commits on branches of the home, one for each, until a person decides.

The branch ``proposals/KD-7F3A`` is one commit on top of what was checked out when it was made: the file with the one
text in it, and in the trailers where it comes from. Nothing here touches the work tree or the staging area, so a
person's work is not disturbed, and a branch can be looked at, pushed or deleted like any other.

A proposal is part of the transaction that makes it (:meth:`agent_home.store.gateway.Transaction.propose`): screened and
validated like a write, written down in the redo record, and made after that transaction's commit.

A proposal may also end an entry that is there. Its branch is named after that entry, so that nobody is asked about one
entry twice at a time. The trailer ``Ends`` names the kind of end, the entry, and the proposed text's own id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from guard.lazy_regex import lazy_regex

from .. import storage
from ..documents.check import entry_files
from ..documents.document import parse
from ..documents.entry import ENTRY_ID, fold_fields, parse_fields
from ..documents.placement import as_entry, end_entry, insert_text
from ..documents.provenance import TRUST, least_trusted
from ..errors import MachineKeyUnusable
from ..git import commits, history
from ..git.commits import BranchCommit
from ..home import Home
from ..machine_key import sign, verify
from ..salt import ensure_salt, read_salt
from ..screening.review_ledger import statement_digest

__all__ = [
    "FOLDER",
    "Overview",
    "Proposal",
    "ProposalDraft",
    "branch_of",
    "broken",
    "count_of_sessions",
    "ended_ids",
    "find",
    "make",
    "overview",
    "pending_ids",
    "pending_statements",
    "rewrite",
    "taken_ids",
    "waiting",
    "withdraw",
]

FOLDER = "proposals/"
#: An id as an entry's first line has it.
_BOLD_ID = lazy_regex(rf"\*\*\[({ENTRY_ID.pattern})\]")
_SOURCES = frozenset(TRUST)
#: The trailer with this machine's two signatures: of the trailers, which a listing needs alone, and of the text.
_SIGNED = "Signed"
_SIGNED_TRAILERS, _SIGNED_TEXT = "proposal", "proposed text"
#: Who proposes what this machine did not sign.
_ELSEWHERE = "another machine"
#: Fields of an entry that say how far it can be trusted.
_CLAIMS = frozenset({"Evidence", "Origin", "Protected"})
_TRAILER = lazy_regex(r"(?P<name>[A-Z][A-Za-z-]*): (?P<value>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDraft:
    """A proposal in the making: *text* for *section* of *path*. The id is an entry's own where the text is an entry.

    *trailers* say who proposes it and on what grounds: Session, Evidence, Actor, Source, Risk. A proposal that ends the
    entry *id* has the trailer Ends.
    """

    id: str
    path: str
    section: str
    text: str
    message: str
    trailers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Ids of all proposals, of the entries whose end is asked about, and of proposals that git cannot read, ordered."""

    pending: frozenset[str]
    ended: frozenset[str]
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A proposal as it stands on its branch. *parent* is the commit that it was made on.

    A *foreign* one is not signed by this machine. What it says about its risk, author and evidence is left out, and its
    entries are a participant's.
    """

    id: str
    path: str
    section: str
    text: str
    commit: str
    parent: str
    ts: str
    subject: str
    trailers: Mapping[str, str] = field(default_factory=dict)
    foreign: bool = False

    @property
    def source(self) -> str:
        """Author of the text, one of ``TRUST``. A trailer with none of these counts as web."""
        said = self.trailers.get("Source", "agent")
        return said if said in _SOURCES else "web"

    @property
    def ends(self) -> str:
        """The kind of end that is proposed for the entry *id*: resolve, retract, supersede or revise, else nothing."""
        return self.trailers.get("Ends", "").partition(" ")[0]


def branch_of(proposal_id: str) -> str:
    return FOLDER + proposal_id


def make(home: Home, rows: Sequence[Mapping[str, Any]], *, died_at: float | None = None) -> None:
    """Commit the drafts in *rows*, each on its own branch on top of HEAD. A draft that has its branch is skipped.

    Call with the lock held.
    """
    existing = pending_ids(home) if rows else set()
    drafts = [draft for draft in (ProposalDraft(**row) for row in rows) if draft.id not in existing]
    if drafts:
        parent = history.head(home.root)
        bases = dict(zip((d.path for d in drafts), history.texts_at(home.root, [(parent, d.path) for d in drafts]),
                         strict=True))  # fmt: skip
        apart = [_apart(home, draft, parent, bases[draft.path]) for draft in drafts]
        commits.commit_to_branches(home.root, apart, died_at=died_at)


def rewrite(home: Home, proposal: Proposal, text: str, trailers: Mapping[str, str]) -> None:
    """Replace the proposed text by *text*, and add *trailers*. Call with the lock held."""
    (base,) = history.texts_at(home.root, [(proposal.parent, proposal.path)])
    made_anew = {"Place", "Entries", "States", _SIGNED}
    kept = {name: value for name, value in proposal.trailers.items() if name not in made_anew}
    draft = ProposalDraft(
        id=proposal.id, path=proposal.path, section=proposal.section, text=text, message=proposal.subject,
        trailers={**kept, **trailers},
    )  # fmt: skip
    commits.commit_to_branches(home.root, [_apart(home, draft, proposal.parent, base)])


def withdraw(home: Home, proposal_id: str) -> None:
    """Remove the proposal's branch. An absent one is no error. Call with the lock held."""
    commits.drop_branch(home.root, branch_of(proposal_id))


def pending_ids(home: Home) -> set[str]:
    """Return the ids of all proposals, decided or not."""
    output = history.query(home.root, "for-each-ref", "--format=%(refname:lstrip=3)", f"refs/heads/{FOLDER}")
    return set(output.split())


def taken_ids(home: Home) -> set[str]:
    """Return the ids of all entries: live, archived and proposed.

    The files are not parsed, because the archive grows for ever. An id that stands in a code block counts as taken.
    """
    texts = (storage.read_text(home.root / file) for file in entry_files(home))
    return {name for text in texts for name in _BOLD_ID.findall(text)} | pending_ids(home)


def broken(home: Home) -> list[str]:
    """Return the ids of proposals that git can no longer read, ordered."""
    return list(overview(home).broken)


def overview(home: Home) -> Overview:
    """Return what waits, by id."""
    found = history.branches_below(home.root, FOLDER)
    return Overview(
        pending=frozenset(name.removeprefix(FOLDER) for name in found.names),
        ended=frozenset(_ended(_with_trailers(home, found.tips))),
        broken=tuple(name.removeprefix(FOLDER) for name in found.broken),
    )


def find(home: Home, proposal_id: str) -> Proposal | None:
    """Return the proposal with exactly that id, or ``None``."""
    found = _read(home, f"refs/heads/{branch_of(proposal_id)}")
    return next((proposal for proposal in found if proposal.id == proposal_id), None)


def waiting(home: Home) -> list[Proposal]:
    """Return the proposals, oldest first. A branch of another kind under that name is skipped."""
    return _read(home, f"refs/heads/{FOLDER}")


def ended_ids(home: Home) -> set[str]:
    """Return the ids of the entries whose end waits for a decision. Only questions of this machine count."""
    return _ended(_listed(home, f"refs/heads/{FOLDER}"))


def _ended(listed: Iterable[tuple[history.BranchTip, Mapping[str, str]]]) -> set[str]:
    return {tip.branch.removeprefix(FOLDER) for tip, said in listed if said.get("Ends") and said.get(_SIGNED)}


def count_of_sessions(home: Home, lead: str) -> int:
    """Return how many proposals wait of sessions whose names begin with *lead*. Only those of this machine count."""
    return sum(said.get("Session", "").startswith(lead) for _, said in _listed(home, f"refs/heads/{FOLDER}"))


def pending_statements(home: Home) -> set[str]:
    """Return digests of what the waiting entries state, and stated before they were edited.

    The digests are those of :mod:`agent_home.screening.review_ledger`.

    From the trailers alone: a closing asks this, and need not read a file for each proposal.
    """
    listed = _listed(home, f"refs/heads/{FOLDER}")
    return {digest for _, said in listed for name in ("States", "Was") for digest in said.get(name, "").split()}


def _listed(home: Home, refs: str) -> list[tuple[history.BranchTip, dict[str, str]]]:
    """Return the newest commit of every proposal, with its trailers. A branch whose commit is gone is left out."""
    return _with_trailers(home, history.branch_tips(home.root, refs))


def _with_trailers(home: Home, found: Iterable[history.BranchTip]) -> list[tuple[history.BranchTip, dict[str, str]]]:
    """Return the proposals among *found*, with their trailers.

    Of the trailers that this machine did not sign, only those stay that say what would be changed.
    """
    tips = [(tip, _trailers(tip.message)) for tip in found]
    salt = read_salt(home).encode() if tips else b""
    return [
        (tip, trailers if _has_own_trailers(salt, tip.branch.removeprefix(FOLDER), trailers) else _bare(trailers))
        for tip, trailers in tips
        if len(tip.parents) == 1 and _is_memory(trailers.get("Place", "").partition("#")[0])
    ]


def _read(home: Home, refs: str) -> list[Proposal]:
    read = _listed(home, refs)
    names = [(commit, _place(trailers)[0]) for tip, trailers in read for commit in (tip.commit, tip.parents[0])]
    texts = history.texts_at(home.root, names)
    salt = read_salt(home).encode() if read else b""
    found = []
    for number, (tip, trailers) in enumerate(read):
        path, section = _place(trailers)
        proposal_id = tip.branch.removeprefix(FOLDER)
        named = trailers.get("Ends", "").rpartition(" ")[2] or proposal_id
        text = _proposed(named, texts[2 * number], texts[2 * number + 1])
        mac = trailers.get(_SIGNED, "").partition(" ")[2]
        foreign = not verify(_SIGNED_TEXT, _signed_text(salt, proposal_id, trailers.get("Place", ""), text), mac)
        proposal = Proposal(
            id=proposal_id, path=path, section=section, text=text, commit=tip.commit, parent=tip.parents[0],
            ts=tip.ts, subject=tip.message.split("\n", 1)[0], trailers=trailers,
        )  # fmt: skip
        if foreign:
            proposal = replace(proposal, text=_unclaimed(text), trailers=_bare(trailers), foreign=True)
        found.append(proposal)
    return sorted((proposal for proposal in found if proposal.text.strip()), key=lambda item: (item.ts, item.id))


def _apart(home: Home, draft: ProposalDraft, parent: str, base_text: str) -> BranchCommit:
    entry, base = as_entry(draft.text), parse(base_text)
    trailers = {"Entries": entry.id if entry else "", "Place": f"{draft.path}#{draft.section}", **draft.trailers}
    ends = bool(entry and draft.trailers.get("Ends"))
    trailers["States"] = statement_digest(entry) if entry and not ends else ""
    if entry and ends:
        text = end_entry(base, draft.id, entry).render()
    else:
        text = insert_text(base, draft.text, section=draft.section).render()
    named = trailers.get("Ends", "").rpartition(" ")[2] or draft.id
    trailers[_SIGNED] = _signature(home, draft, trailers, _proposed(named, text, base_text))
    return BranchCommit(
        branch=branch_of(draft.id), parent=parent, path=draft.path, text=text, message=draft.message, trailers=trailers
    )


def _signature(home: Home, draft: ProposalDraft, trailers: Mapping[str, str], proposed: str) -> str:
    """Return this machine's signatures of a proposal. They are empty where it has no key: a person reads it then."""
    said = _trailers(commits.message_with(draft.message, trailers))
    try:
        salt = ensure_salt(home).encode()
        text_mac = sign(_SIGNED_TEXT, _signed_text(salt, draft.id, said.get("Place", ""), proposed))
        return f"{sign(_SIGNED_TRAILERS, _signed_trailers(salt, draft.id, {**said, _SIGNED: text_mac}))} {text_mac}"
    except (MachineKeyUnusable, OSError):
        return ""


def _has_own_trailers(salt: bytes, proposal_id: str, trailers: Mapping[str, str]) -> bool:
    """Return whether this machine signed *trailers* for that proposal of this home."""
    mac, _, text_mac = trailers.get(_SIGNED, "").partition(" ")
    return bool(salt and mac) and verify(
        _SIGNED_TRAILERS, _signed_trailers(salt, proposal_id, {**trailers, _SIGNED: text_mac}), mac
    )


def _signed_trailers(salt: bytes, proposal_id: str, trailers: Mapping[str, str]) -> bytes:
    """Return what is signed. The salt before it keeps a proposal of one home from counting in another."""
    return salt + json.dumps([proposal_id, sorted(trailers.items())], ensure_ascii=True).encode()


def _signed_text(salt: bytes, proposal_id: str, place: str, text: str) -> bytes:
    return salt + json.dumps([proposal_id, place, text], ensure_ascii=True).encode()


def _bare(trailers: Mapping[str, str]) -> dict[str, str]:
    """Return the trailers of a stranger that count. To retire a rule is an end, too."""
    ends = trailers.get("Ends", "") or ("retire" if trailers.get("Retires") else "")
    said = trailers.get("Source", "user")
    source = least_trusted([said if said in TRUST else "web", "participant"])
    kept = {"Place": trailers.get("Place", ""), "Actor": _ELSEWHERE, "Source": source}
    return {**kept, "Ends": ends} if ends else kept


def _unclaimed(text: str) -> str:
    """Return a stranger's *text* without what it says about its evidence, and with a participant as its author."""
    document = parse(text)
    entries = {entry.id: entry.changed(fields=_as_participant(entry.fields)) for entry in document.entries()}
    lines = document.with_entries((), tuple(entries.values())).render().splitlines(keepends=True)
    return "".join(_unclaimed_line(line) for line in lines)


def _unclaimed_line(line: str) -> str:
    fields = parse_fields(line.rstrip("\r\n"))
    if not _CLAIMS & fields.keys():
        return line
    return f"{line[: len(line) - len(line.lstrip())]}{fold_fields(_as_participant(fields))}\n"


def _as_participant(fields: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in fields.items() if name not in _CLAIMS}
    return {**kept, "Origin": least_trusted([fields.get("Origin", "user"), "participant"])}


def _proposed(named: str, text: str, base: str) -> str:
    """Return the text that the branch adds: the entry *named*, or else the lines that *base* does not have."""
    added = _added(text, base)
    if not ENTRY_ID.fullmatch(named):
        return added
    entry = parse(text).entry(named) or parse(added).entry(named)
    return entry.render() if entry is not None else added


def _added(text: str, base: str) -> str:
    """Return the lines of *text* between those that it shares with *base* at both ends. Parsing both takes longer."""
    lines, old = text.splitlines(keepends=True), base.splitlines(keepends=True)
    shorter = min(len(lines), len(old))
    start = next((at for at in range(shorter) if lines[at] != old[at]), shorter)
    same = next((at for at in range(shorter - start) if lines[-1 - at] != old[-1 - at]), shorter - start)
    return "".join(lines[start : len(lines) - same]).strip("\r\n") + "\n"


def _trailers(message: str) -> dict[str, str]:
    """Return the trailers of a commit message: the lines of its last paragraph, unless that is its first."""
    paragraphs = message.strip().split("\n\n")
    lines = paragraphs[-1].splitlines() if len(paragraphs) > 1 else []
    return {match["name"]: match["value"] for line in lines if (match := _TRAILER.fullmatch(line))}


def _is_memory(path: str) -> bool:
    """Return whether *path* names a Markdown file of the home. Anybody can make a branch."""
    parts = path.split("/")
    return path.endswith(".md") and parts[0] != "sessions" and not any(p in {"", "~"} or p[0] == "." for p in parts)


def _place(trailers: Mapping[str, str]) -> tuple[str, str]:
    path, _, section = trailers["Place"].partition("#")
    return path, section
