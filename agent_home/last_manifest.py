"""Find the last good ``agent.toml`` in git, for a home whose file is broken.

An editor that dies, a merge or a stray byte can break the file. Until somebody corrects it, the home is read under the
settings that it had, so that no audience or guard rule is lost and the prompt still comes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from .errors import HistoryError, SettingsBroken, SettingsInvalid
from .home import Home
from .settings import MANIFEST, parse_manifest

__all__ = ["with_last_manifest"]

#: Versions of the file that are tried, the newest first.
_MOST_VERSIONS = 20


def with_last_manifest(home: Home) -> tuple[Home, str]:
    """Return *home* with a manifest that can be read, and what is wrong with its file, or an empty string.

    Raises:
        SettingsBroken: the file is broken, and git has no good version of it.
    """
    try:
        _ = home.manifest
    except SettingsBroken as error:
        for commit, text in _versions(home):
            with suppress(SettingsInvalid):
                manifest = parse_manifest(text, home.root / MANIFEST)
                return replace(home, given=manifest), f"{error}. Until then the version of {commit[:7]} is used"
        raise
    except (SettingsInvalid, OSError):
        pass  # the command that needs the setting names it
    return home, ""


def _versions(home: Home) -> list[tuple[str, str]]:
    from .git import history  # a home whose file is good needs no git

    try:
        output = history.query(home.root, "log", f"--max-count={_MOST_VERSIONS}", "--format=%H", "--", MANIFEST)
        commits = output.split()
        return list(zip(commits, history.texts_at(home.root, [(one, MANIFEST) for one in commits]), strict=True))
    except HistoryError:
        return []
