"""Git's evidence for the items of a summary that report work, and for other sentences of the assistant.

No list of verbs finds every report: «Anyone reading X gets a warning from now on». So the sentences that no item holds
are compared with the session's commits too. What a commit confirms becomes an item, and the rest is forgotten. A
configured language model reads the commits for what stays open.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agent_home.home import Home
from agent_home.store.transcript import Message
from recall.text.identity import identity_key

from ..evidence.checking import check_text
from ..evidence.commit_fit import read_report
from ..evidence.commit_reader import NOTHING_READ, CommitReading, OpenReport, read_commits
from ..evidence.session_repositories import Workplace, workplace
from ..evidence.status import Evidence
from ..language_model.endpoint import Endpoint
from ..settings import DistillSettings
from ..statements.sentences import is_question, narrowed, prose_lines, shorten, split_sentences
from .extraction import MAX_ITEM_CHARS, Item, Summary, spoken_messages
from .standalone_items import tell_items

__all__ = ["WorkEvidence", "find_evidence"]

#: Kinds of items that can report work. Plans and wishes claim nothing, and a correction takes a claim back.
_REPORTS = frozenset({"conclusion", "deliverable", "lesson", "root_cause", "fact"})
#: Most sentences of a session that are compared besides its items, the latest ones, and their share of its time.
_MAX_SENTENCES = 30
_TIME_SHARE = 0.5
#: Fewest things that such a sentence names.
_LEAST_NAMED = 2
#: Most such sentences that become items for one commit.
_MAX_FOR_ONE_COMMIT = 3
_OPEN = Evidence(state="unverified")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEvidence:
    """Evidence by item. *found* are items of sentences that were none, and *reading* is what a model read and cost."""

    evidence: Mapping[Item, Evidence] = field(default_factory=dict)
    found: tuple[Item, ...] = ()
    reading: CommitReading = NOTHING_READ


def find_evidence(
    home: Home,
    summary: Summary,
    messages: Sequence[Message],
    fresh: Collection[Message],
    *,
    now: datetime,
    settings: DistillSettings,
    endpoint: Endpoint | None = None,
    spent: int = 0,
) -> WorkEvidence:
    """Return git's evidence for what *summary* reports, in the order of its items.

    *messages* are those of the whole session, which tell its time and folders. Sentences of *fresh* ones may become
    items, which a model has not read. *endpoint* reads what stays open, within what *spent* leaves of the session's
    tokens.
    """
    place = workplace(messages, now, settings.window_slack_s)
    deadline = time.monotonic() + settings.session_timeout_s
    items = [item for item in summary.items if item.kind in _REPORTS]
    evidence = _checked(items, place, settings, deadline)
    others = possible_reports(summary, fresh) if place.tops else []
    half = min(deadline, time.monotonic() + settings.session_timeout_s * _TIME_SHARE)
    told = _checked(others, place, settings, half)
    found = {item: said for item, said in told.items() if said.state == "verified"}
    reading = NOTHING_READ
    if endpoint is not None and endpoint.settings.task == "read":
        waiting = [
            item
            for item in (*items, *others)
            if item.role == "assistant"
            and place.repositories(item.sources)
            and (evidence.get(item) or told.get(item) or _OPEN).state in {"unverified", "unchecked"}
        ]
        open_ = [OpenReport(text=item.text, repositories=place.repositories(item.sources)) for item in waiting]
        reading = read_commits(
            home, open_, place.window, endpoint, now, timeout_s=settings.session_timeout_s, spent=spent
        )
        for at, said in reading.evidence.items():
            if waiting[at] in items:
                evidence[waiting[at]] = said
            elif said.state == "verified":
                found[waiting[at]] = said
    ordered = {item: evidence[item] for item in items if item in evidence}
    found = _latest_of_each_commit(found)
    added = tell_items(replace(summary, items=tuple(found)), messages, (), home, now).items
    told_evidence = dict(zip(added, found.values(), strict=True))
    return WorkEvidence(evidence=ordered | told_evidence, found=added, reading=reading)


def possible_reports(summary: Summary, messages: Collection[Message]) -> list[Item]:
    """Return the sentences of *messages* that may report work in a folder and that no item of *summary* holds."""
    held = [identity_key(item.text) for item in summary.items]
    found: dict[str, Item] = {}
    for message in spoken_messages(list(messages)):
        if message.role != "assistant" or not message.cwd:
            continue
        lines = (line for line in prose_lines(message.content) if line.kind != "heading")
        for sentence in (part for line in lines for part in split_sentences(line.text)):
            key = identity_key(sentence)
            known = key in found or any(key in other or other in key for other in held)
            if not known and _may_report(sentence):
                found[key] = Item(
                    kind="deliverable", text=shorten(sentence, MAX_ITEM_CHARS), sources=(message.source,),
                    role=message.role, ts=message.ts, said_in=(message.source,), worked=True,
                )  # fmt: skip
    return list(found.values())[-_MAX_SENTENCES:]


def _latest_of_each_commit(found: dict[Item, Evidence]) -> dict[Item, Evidence]:
    """Return the last few of *found* for each commit, which mostly stand in the summary at the end of the work."""
    kept: dict[Item, Evidence] = {}
    counts: Counter[str] = Counter()
    for item, said in reversed(found.items()):
        counts[said.commit] += 1
        if counts[said.commit] <= _MAX_FOR_ONE_COMMIT:
            kept[item] = said
    return dict(reversed(kept.items()))


def _checked(
    items: Collection[Item], place: Workplace, settings: DistillSettings, deadline: float
) -> dict[Item, Evidence]:
    found: dict[Item, Evidence] = {}
    for item in items:
        roots = place.repositories(item.sources)
        said = check_text(
            item.text, item.role, roots, place.window, timeout_s=settings.claim_timeout_s, deadline=deadline
        )
        if said is not None:
            found[item] = said
    return found


def _may_report(sentence: str) -> bool:
    if is_question(sentence):
        return False
    report = read_report(narrowed(sentence))
    return report is not None and len(report.units) >= _LEAST_NAMED
