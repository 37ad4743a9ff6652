"""Let statements of others about topics of the owner wait for a person.

What participants, tools and pages say of payments, accounts, approvals, policies, vendors, access or the owner's wishes
is not written into the daily log or ``MEMORY.md``. It becomes a proposal if it would have become an entry. The same
holds for the agent's own sentence about such a topic where the session heard others and the owner did not say it: the
agent may have it from them in other words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..evidence.status import Evidence
from ..reading.foreign_topics import is_owners_topic
from ..statements.restatement import WordsOfOthers
from ..summary.extraction import Item, Summary

__all__ = ["reason_to_wait", "with_foreign_doubts"]

#: Chance of a topic from which the agent's own words wait. They are rarely somebody else's.
_LEAST_OF_AGENT = 0.7
_OTHERS = "{} said it, and it is about money, access, rules or wishes that only the owner decides"
_AGENT = "it is about money, access, rules or wishes, the session heard others, and the owner did not say it"


def with_foreign_doubts(
    summary: Summary, evidence: Mapping[Item, Evidence], origins: Mapping[Item, str], heard: WordsOfOthers
) -> Summary:
    """Return *summary* with the items that wait for a person among the doubted ones. *origins* are those of items."""
    kept, doubted = [], list(summary.doubted)
    for item in summary.items:
        verified = item in evidence and evidence[item].state == "verified"
        source = (item.said_in or item.sources)[0]
        reason = "" if verified else reason_to_wait(item.text, origins.get(item, "agent"), source, heard)
        if reason:
            doubted.append(replace(item, doubt=reason))
        else:
            kept.append(item)
    return replace(summary, items=tuple(kept), doubted=tuple(doubted))


def reason_to_wait(text: str, origin: str, source: str, heard: WordsOfOthers) -> str:
    """Return why *text*, which the turn at *source* says, waits for a person, or an empty string."""
    if origin == "user":
        return ""
    if origin == "agent":
        if not heard.any_before(source) or heard.is_owners(text) or not is_owners_topic(text, _LEAST_OF_AGENT):
            return ""
        return _AGENT
    return _OTHERS.format(f"a {origin}" if origin != "web" else "a page") if is_owners_topic(text) else ""
