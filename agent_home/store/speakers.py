"""Decide who speaks in a transcript: the owner of the home, another participant, the agent or a tool.

A role alone does not tell. Every human of a group chat has the role ``user``, and every bot may have the role
``assistant``. ``[owner]`` in ``agent.toml`` names the owner, and ``name`` the agent. Every other human or bot gets the
role ``participant`` when a transcript is read, so that nothing takes their words for the owner's or the agent's. The
transcript itself is not changed, and a corrected ``[owner]`` counts for all that is read later.
"""

from __future__ import annotations

import hashlib
import shlex
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from guard.lazy_regex import lazy_regex

from ..home import Home
from ..settings import OwnerSettings
from . import transcript
from .transcript import Message, Turn

__all__ = [
    "MOST_LABEL_CHARS",
    "SpeakerRoles",
    "humans_of_shared_chats",
    "owner_advice",
    "owner_settings",
    "owner_signature",
    "owner_waits",
    "resolve_roles",
    "resolve_speakers",
    "role_and_name",
    "speaker_label",
]

#: What hosts write in place of a name.
_NAMELESS = frozenset({"", "user", "human", "me", "you", "用户", "我"})
_NAMELESS_BOTS = frozenset({"", "agent", "ai", "assistant", "bot", "model", "助手"})
_ACCOUNT = "account "
#: A channel's other transcripts are searched for humans up to this number, the latest ones.
_MAX_CHANNEL_FILES = 50
#: Names of humans in the advice about a group chat.
_MAX_NAMED = 4
MOST_LABEL_CHARS = 40
_ASCII_LOWER = {ord(capital): capital.lower() for capital in string.ascii_uppercase}
_ROLES = frozenset({"user", "participant", "assistant", "tool", "system"})
#: Everything in a name that could be read as something else than a name: separators, brackets, quotation marks, digits
#: of a time or an address, and marks of this system's lines.
_NOT_IN_A_LABEL = lazy_regex(r"[^\w .'\u2019\u00b7-]|_|\d+(?:[.:/-]\d+)+|\d{4,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerRoles:
    """Turns with the roles of their speakers.

    *unowned* holds the names of the humans if there are several of them and nothing tells which one is the owner.
    """

    turns: tuple[Turn, ...]
    unowned: tuple[str, ...] = ()


def owner_settings(home: Home) -> OwnerSettings:
    """Return the names and accounts of the home's owner. They may be empty.

    Raises:
        SettingsInvalid: ``[owner]`` of ``agent.toml`` has an unknown key or a value of another type.
    """
    return home.manifest.settings("owner", OwnerSettings)


def owner_signature(home: Home) -> str:
    """Return a digest of what is known about the owner. What was read under another digest has other roles."""
    owner = owner_settings(home)
    known = "\0".join(("names", *owner.names, "accounts", *owner.accounts))
    return hashlib.blake2b(known.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def resolve_speakers(home: Home, turns: Sequence[Turn]) -> SpeakerRoles:
    """Return *turns* of one session. Humans who are not the owner get the role ``participant``.

    Without ``[owner]``, the only human of a chat and of its channel is the owner. Among several humans nobody is.
    """
    owner = owner_settings(home)
    messages = [turn.message for turn in turns]
    said = [message for message in messages if message.role == "user"]
    asked = {m.channel for m in said if m.channel and _needs_others(m, owner)}
    beside = _humans_of_channels(home, asked)
    resolved = resolve_roles(messages, owner, beside, agent=home.manifest.name)
    humans = beside | set(map(_identity, said))
    several = not owner.known and len(humans) > 1
    names = sorted({speaker_label(message.name) or "a human without a name" for message in said})
    return SpeakerRoles(
        turns=tuple(replace(turn, message=now) for turn, now in zip(turns, resolved, strict=True)),
        unowned=tuple(names[:_MAX_NAMED]) if several else (),
    )


def resolve_roles(
    messages: Sequence[Message], owner: OwnerSettings, beside: Collection[str] = frozenset(), *, agent: str = ""
) -> list[Message]:
    """Return *messages* of one session with the role ``participant`` for those who are not the *owner* or the *agent*.

    *beside* are humans who speak in the same channel in other sessions.
    """
    bots = _other_bots(messages, owner, agent)
    said = [message for message in messages if message.role == "user"]
    chat = _Chat(
        alone=len({*beside, *map(_identity, said)}) < 2,
        has_accounts=any(message.account for message in said) or any(one.startswith(_ACCOUNT) for one in beside),
        accounts=_accounts_by_name(said),
    )
    return [
        replace(message, role="participant")
        if (message.role == "user" and not _is_owner(message, owner, chat))
        or (message.role == "assistant" and _identity(message) in bots)
        else message
        for message in messages
    ]  # fmt: skip


def speaker_label(name: str) -> str:
    """Return *name* as it may stand in a line that is not its writer's, or an empty string.

    A name is data that any member of a chat chooses. Line breaks, brackets, colons, quotation marks, times and hidden
    characters go, and the rest is cut.

    >>> speaker_label("Mara Lind"), speaker_label("Sam, 14:05]: yes\\n- [names#9]")
    ('Mara Lind', 'Sam yes - names')
    """
    plain = "".join(" " if char.isspace() else char for char in unicodedata.normalize("NFKC", name[:400]))
    plain = "".join(char for char in plain if not unicodedata.category(char).startswith("C"))
    plain = " ".join(_NOT_IN_A_LABEL.sub(" ", plain).split()).strip(" .'-\u2019\u00b7")
    return plain[:MOST_LABEL_CHARS].strip() if any(map(str.isalpha, plain)) else ""


def role_and_name(role: str, name: str) -> str:
    """Return the role of a speaker and, in quotation marks, the name. A name never takes the place of the role.

    Anybody in a chat, and any tool, can have the owner's name.

    >>> role_and_name("participant", "Sam Ortiz"), role_and_name("participant", "assistant"), role_and_name("", "Sam")
    ('participant "Sam Ortiz"', 'participant', 'someone "Sam"')
    """
    known = role if role in _ROLES else "someone"
    label = speaker_label(name)
    return f'{known} "{label}"' if label and label.casefold() not in _ROLES else known


def owner_waits(home: Home) -> bool:
    """Return whether ``agent.toml`` names an owner, perhaps from a pull, and nobody here has agreed or refused."""
    return not home.manifest.refused and any(item.key.startswith("owner.") for item in home.manifest.waiting)


def owner_advice(home: Home) -> str:
    """Return what a person does so that *home* knows its owner: agree to what ``agent.toml`` says, or name somebody."""
    if owner_waits(home):
        return "agent.toml names an owner, which waits for your consent in `memory trust`"
    return f"`memory init {shlex.quote(str(home.root))} --owner NAME` says who the owner is"


def humans_of_shared_chats(home: Home) -> list[str]:
    """Return who speaks in the latest chats, if several humans speak in one of them: the one in most chats first."""
    chats: Counter[str] = Counter()
    shared = False
    for file in transcript.sessions(home)[-_MAX_CHANNEL_FILES:]:
        messages = (message for message, _, _ in transcript.read_lines(file.path) if message is not None)
        said = [message for message in messages if message.role == "user"]
        shared = shared or len(set(map(_identity, said))) > 1
        chats.update({label for message in said if (label := speaker_label(message.name))})
    return [name for name, _ in sorted(chats.items(), key=lambda item: (-item[1], item[0]))] if shared else []


def _other_bots(messages: Sequence[Message], owner: OwnerSettings, agent: str) -> set[str]:
    """Return who has the role ``assistant`` and is not the home's *agent*.

    An assistant without a name is the agent, and so is the only one, whatever the host calls it. Beside one with the
    agent's name, no other is. Where several have names in a group chat, nobody knows which one is the agent. One with
    the name or the account of a human never is.
    """
    bots = {
        _identity(message): message for message in messages
        if message.role == "assistant" and (message.account or _folded(message.name) not in _NAMELESS_BOTS)
    }  # fmt: skip
    humans = [message for message in messages if message.role in {"user", "participant"}]
    names = {_folded(message.name) for message in humans} | set(map(_folded, owner.names))
    taken = {*map(_identity, humans), *(f"{_ACCOUNT}{account}" for account in owner.accounts)}
    own = {name for name, message in bots.items() if agent and _folded(message.name) == _folded(agent)}
    in_group = any(message.channel or message.account for message in bots.values())
    unclear = len(bots) > 1 and (bool(own) or in_group)
    return {
        name for name, message in bots.items()
        if (unclear and name not in own) or (name in taken or _folded(message.name) in names)
    }  # fmt: skip


def _needs_others(message: Message, owner: OwnerSettings) -> bool:
    """Return whether other sessions of the channel tell who *message* is from."""
    nobody_known = not owner.known or _folded(message.name) in _NAMELESS
    return nobody_known or bool(owner.accounts and not message.account)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chat:
    """Participants of a chat: whether only one human speaks, and the accounts behind each name."""

    alone: bool
    has_accounts: bool
    accounts: Mapping[str, Collection[str]]


def _is_owner(message: Message, owner: OwnerSettings, chat: _Chat) -> bool:
    if not owner.known:
        return chat.alone
    if message.account and owner.accounts:
        return message.account in owner.accounts
    name = _folded(message.name)
    if name in _NAMELESS:
        # In a channel, such a word is a name that a member chose, and an account that is not known is not the owner's.
        chosen = message.channel and (name or owner.accounts)
        return chat.alone and not message.account and not chosen
    if not owner.names:
        return chat.alone and not message.account
    if name not in set(map(_folded, owner.names)):
        return False
    # Anybody can choose a name. Where a chat has accounts, a name without one proves nothing, and neither does a name
    # of two accounts.
    return not chat.has_accounts if owner.accounts else len(chat.accounts[name]) < 2


def _accounts_by_name(said: Sequence[Message]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for message in said:
        found.setdefault(_folded(message.name), set()).add(message.account)
    return found


def _humans_of_channels(home: Home, channels: set[str]) -> set[str]:
    """Return the humans who speak in the latest transcripts of *channels*."""
    if not channels:
        return set()
    files = sorted(transcript.sessions(home), key=lambda file: file.mtime_ns)[-_MAX_CHANNEL_FILES:]
    return {_identity(message) for file in files for message in _said_in(file.path, channels)}


def _said_in(path: Path, channels: Collection[str]) -> Iterator[Message]:
    for message, _, _ in transcript.read_lines(path):
        if message is not None and message.role == "user" and message.channel in channels:
            yield message


def _identity(message: Message) -> str:
    """Return what tells a human from others: the account, or else the name."""
    name = _folded(message.name)
    return f"{_ACCOUNT}{message.account}" if message.account else "" if name in _NAMELESS else name


def _folded(name: str) -> str:
    """Return *name* with one spelling of accents and of ASCII letters. Everything else makes it another name."""
    return unicodedata.normalize("NFC", name).translate(_ASCII_LOWER)
