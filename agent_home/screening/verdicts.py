"""Ask the guard about texts, and remember its verdicts while the process runs.

Every text of a home reaches the guard through this module. A verdict is remembered under a digest of the text, never
under the text itself, and only for the settings that it was made with. A guard that cannot run is asked again for
every text.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

from guard import (
    Action,
    Destination,
    GuardError,
    GuardSettings,
    RuleSet,
    Source,
    Verdict,
    rules_from_gitleaks,
    screen,
)

from .. import storage
from ..home import Home
from ..salt import read_salt

__all__ = ["Verdicts", "guard_settings", "verdicts_under"]

#: Verdicts that are remembered for one set of rules: a large memory file and the texts of one closing.
_CAPACITY = 4096
_EVERYWHERE = frozenset(Destination)
#: First bytes of gzip, zip, xz, zstd and bzip2 files.
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")


class Verdicts:
    """Verdicts of the guard under one set of settings."""

    def __init__(self, settings: GuardSettings, *, capacity: int = _CAPACITY) -> None:
        self.settings = settings
        self._personal = replace(settings, keep_email=_EVERYWHERE, keep_phone=_EVERYWHERE)
        self._capacity = capacity
        self._known: dict[bytes, Verdict] = {}
        self._lock = Lock()

    def to_store(self, text: str, source: str, destination: str) -> Verdict:
        """Return the verdict on a text of *source* that is about to be stored.

        Raises:
            GuardError: the guard cannot run.
        """
        key = _key("store", source, destination, text)
        verdict = self._remembered(key, text)
        if verdict is None:
            verdict = self._remember(key, text, screen(text, source, destination, settings=self.settings))
            if verdict.action is Action.ALLOW:  # a person's own text has the same rules, or fewer
                self._remember(_key("personal", Source.USER, destination, text), text, replace(verdict, findings=()))
        return verdict

    def of_personal(self, text: str, destination: str) -> Verdict:
        """Return the verdict on a text that a person put into the home by hand.

        E-mail addresses and telephone numbers may stay in it. A text that may be stored unchanged, whoever wrote it,
        is clean here too: its verdict then lists no findings.

        Raises:
            GuardError: the guard cannot run.
        """
        key = _key("personal", Source.USER, destination, text)
        verdict = self._remembered(key, text)
        if verdict is None:
            verdict = self._remember(key, text, screen(text, Source.USER, destination, settings=self._personal))
        return verdict

    def of_name(self, text: str, *, own: bool) -> Verdict:
        """Return the verdict on the name of a file. It is judged as text of a web page, whoever chose it.

        In the *own* names of a person, e-mail addresses and telephone numbers may stay.

        Raises:
            GuardError: the guard cannot run.
        """
        key = _key("own name" if own else "name", Source.WEB, Destination.KNOWLEDGE, text)
        verdict = self._remembered(key, text)
        if verdict is None:
            settings = self._personal if own else self.settings
            verdict = self._remember(key, text, screen(text, Source.WEB, Destination.KNOWLEDGE, settings=settings))
        return verdict

    def _remembered(self, key: bytes, text: str) -> Verdict | None:
        verdict = self._known.get(key)
        return replace(verdict, text=text) if verdict is not None and verdict.action is Action.ALLOW else verdict

    def _remember(self, key: bytes, text: str, verdict: Verdict) -> Verdict:
        """Keep *verdict* in the place of the oldest one. The text of an unchanged one is the caller's to give again."""
        if verdict.action is Action.ALLOW and verdict.text != text:
            return verdict
        with self._lock:  # the threads of a service share it
            while len(self._known) >= self._capacity:
                self._known.pop(next(iter(self._known)))
            self._known[key] = replace(verdict, text="") if verdict.action is Action.ALLOW else verdict
        return verdict


def verdicts_under(settings: GuardSettings) -> Verdicts:
    """Return this process's verdicts under *settings*. The answers of an injection model are not shared."""
    return Verdicts(settings) if settings.model is not None else _shared(settings)


def guard_settings(home: Home) -> GuardSettings:
    """Return the home's ``[guard]`` table, with its rule files read in, and with the home's salt if it names none.

    Paths of rule files are relative to the home.

    Raises:
        SettingsInvalid: the table has an unknown key or a wrong value.
        GuardError: a rule file cannot be read or understood.
    """
    settings = home.manifest.settings("guard", GuardSettings)
    settings = settings if settings.salt else replace(settings, salt=read_salt(home))
    if not settings.rules:
        return settings
    return replace(settings, loaded=tuple(_rule_set(home.root / path) for path in settings.rules))


def _rule_set(path: Path) -> RuleSet:
    try:
        data = storage.read_bytes(path)
        if data.startswith(_PACKED):
            raise GuardError(f"the rule file {path} is compressed. Decompress it and correct `rules` in [guard]")
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise GuardError(f"the rule file {path} cannot be read ({error}). Correct `rules` in [guard]") from error
    return _rules_from(text)


@lru_cache(maxsize=8)
def _rules_from(text: str) -> RuleSet:
    """Return the rules of a file with this *text*. The same text gives the same object, so that settings compare."""
    return rules_from_gitleaks(text)


@lru_cache(maxsize=8)
def _shared(settings: GuardSettings) -> Verdicts:
    return Verdicts(settings)


def _key(policy: str, source: str, destination: str, text: str) -> bytes:
    named = f"{policy}\0{source}\0{destination}\0{text}"
    return hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=16).digest()
