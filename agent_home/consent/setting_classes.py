"""Classify every setting of ``agent.toml`` by what a file that somebody else wrote may do with it.

``agent.toml`` comes with a pull, a clone or an archive. A setting takes effect as the file says it only if it can do no
harm. This module is data. ``agent_home.consent.settings_in_effect`` applies it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["CLASSES", "SettingClass", "is_wider"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingClass:
    """The class of a setting.

    *kind* is ``harmless`` for a setting that takes effect at once. A ``narrowing`` one takes effect where it allows no
    more than the value in effect. With ``consent``, every change waits for a person. *more* says which value allows
    more: ``more-items``, ``fewer-items``, ``true``, or ``fewer-proposals`` of a table of sections. *default* is the
    value of a file that is silent, and *why* the harm. A *removable* setting may be taken away at once.
    """

    kind: Literal["harmless", "narrowing", "consent"]
    more: Literal["", "more-items", "fewer-items", "true", "fewer-proposals"] = ""
    default: Any = None
    why: str = ""
    removable: bool = False


def _harmless(*names: str) -> dict[str, SettingClass]:
    return dict.fromkeys(names, SettingClass(kind="harmless"))


def _consent(name: str, why: str, *, removable: bool = False) -> dict[str, SettingClass]:
    return {name: SettingClass(kind="consent", why=why, removable=removable)}


#: By ``table.key``. A nested table counts as one setting: a part of an endpoint is as good as another endpoint.
CLASSES: Mapping[str, SettingClass] = {
    **_harmless("version", "name"),
    # Whoever may change these may as well change AGENT.md, whose text is screened and shown.
    **_harmless("context.file", "context.owner", "context.cut", "context.floor"),
    "context.audiences": SettingClass(kind="narrowing", more="more-items", why="shows a private file to others"),
    "audiences": SettingClass(kind="narrowing", more="more-items", why="shows private files to others"),
    # Without names, the only human of a chat is the owner, so taking them away widens trust as well.
    **_consent("owner.names", "lets somebody of another name speak as the owner"),
    **_consent("owner.accounts", "lets another account speak as the owner"),
    **_consent("embedding.model", "loads another model file", removable=True),
    **_consent("embedding.folder", "loads a model file from that folder", removable=True),
    "embedding.download": SettingClass(kind="narrowing", more="true", default=False, why="fetches from the network"),
    **_harmless("embedding.download_timeout_s", "embedding.threads", "embedding.enabled"),
    **_harmless(
        "recall.passage_tokens", "recall.vector_weight", "recall.chinese_vector_weight", "recall.cjk_vector_weight",
        "recall.archive_weight", "recall.lexical_deadline_ms", "recall.vector_deadline_ms", "recall.sync_timeout_s",
        "recall.fresh_embeddings", "recall.max_file_bytes",
    ),
    **_harmless(
        "assembler.window", "assembler.vocabulary", "assembler.tiers", "assembler.pool_share",
        "assembler.small_pool_share", "assembler.small_pool_tokens", "assembler.pool_tokens", "assembler.daily_share",
        "assembler.daily_tokens", "assembler.recall_floor", "assembler.weak_tokens", "assembler.weak_score",
        "assembler.recall_strong", "assembler.memory_first", "assembler.index_share", "assembler.selected_share",
        "assembler.selective_ms", "assembler.sessions_ms", "assembler.knowledge_ms", "assembler.resume_days",
        "assembler.near_misses",
    ),
    # What these move to the archive stays in git and is still found.
    **_harmless(
        "distill.claim_timeout_s", "distill.session_timeout_s", "distill.window_slack_s", "distill.max_topics",
        "distill.max_items", "distill.log_share", "distill.max_entries_per_section", "distill.archive_after_days",
        "distill.recurrence_days", "distill.recurring", "distill.section_entries", "distill.room",
        "distill.memory_tokens", "distill.rule_after_sessions", "distill.retire_rules_after_days",
        "distill.resume_tokens",
    ),
    **_consent("distill.outputs_days", "may drop outputs of tools sooner, and git has none of them"),
    "distill.review": SettingClass(
        kind="narrowing", more="fewer-proposals", default={}, why="commits entries that a person reviewed before"
    ),
    **_consent(
        "distill.endpoint", "sends sessions and a variable to an address, or runs a command", removable=True
    ),
    "serve.autostart": SettingClass(
        kind="narrowing", more="true", default=False, why="keeps a process running on this machine"
    ),
    **_harmless("serve.idle_minutes"),
    **_consent("serve.max_body_bytes", "lets programs send larger requests"),
    **_consent("serve.requests_per_minute", "lets programs ask more often"),
    **_consent("guard.max_chars", "changes what the guard reads"),
    **_consent("guard.max_document_chars", "changes what the guard reads"),
    "guard.entries": SettingClass(
        kind="narrowing", more="fewer-items", default=["memory"], why="accepts headings inside entries"
    ),
    "guard.keep_email": SettingClass(
        kind="narrowing", more="more-items", default=["user_profile"], why="keeps e-mail addresses in more places"
    ),
    "guard.keep_phone": SettingClass(
        kind="narrowing", more="more-items", default=["user_profile"], why="keeps telephone numbers in more places"
    ),
    **_consent("guard.keep_own_contact", "keeps the owner's own contact data"),
    **_consent("guard.keep_originals_days", "keeps originals with personal data for longer"),
    **_consent("guard.salt", "makes digests of findings guessable", removable=True),
    **_consent("guard.rules", "decides what is redacted"),
    **_consent("guard.model_threshold", "decides what is held back"),
}  # fmt: skip


def is_wider(rule: SettingClass, value: Any, known: Any) -> bool:
    """Return whether *value* may allow more than *known*. Each is as TOML gives it, ``None`` where it is not set.

    A value of a wrong type counts as wider: it waits, and ``memory doctor`` names what is wrong with it.
    """
    if value == known or rule.kind == "harmless" or (rule.removable and value is None):
        return False
    if rule.kind == "consent":
        return True
    value, known = (rule.default if item is None else item for item in (value, known))
    if rule.more == "true":
        return value is not False and known is not True
    if rule.more == "fewer-proposals":
        return not _proposed(known) <= _proposed(value)
    if not isinstance(value, list) or not isinstance(known, list):
        return True
    new, old = ({str(item) for item in items} for items in (value, known))
    return not (new <= old if rule.more == "more-items" else new >= old)


def _proposed(table: Any) -> set[str]:
    """Return the sections whose new entries wait for a person."""
    return {str(title) for title, mode in table.items() if mode == "propose"} if isinstance(table, dict) else set()
