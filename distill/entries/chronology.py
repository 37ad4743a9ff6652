"""Order of entries of one day by the turns that said them.

An entry has a day and no time, so transcripts decide which of two entries is the newer one. A home without transcripts,
such as a clone, does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from agent_home.clock import parse_time
from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store import transcript

__all__ = ["Chronology"]

_Moments = Mapping[str, tuple[int, float | None]]


class Chronology:
    """Order of entries by their latest turns. Each transcript is read at most once, when two entries need it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._sessions: dict[str, _Moments] = {}

    def is_reversed(self, older: Entry, newer: Entry) -> bool:
        """Return whether the turns say that *newer* was said before *older*. Without turns it was not.

        An entry with words of an older one cites the turns of both, so its latest turn counts.
        """
        mine, other = self._moments(older), self._moments(newer)
        if not mine or not other:
            return False
        times = [[at for _, at in moments.values() if at is not None] for moments in (mine, other)]
        shared = mine.keys() & other.keys()
        apart = all(times) and max(times[0]) != max(times[1])
        if shared and not (apart and mine.keys() != other.keys()):
            return any(other[session][0] < mine[session][0] for session in shared)
        return all(times) and max(times[1]) < max(times[0])

    def _moments(self, entry: Entry) -> _Moments:
        """Return the place and time of the latest turn of *entry* in each of its sessions that is known here."""
        found: dict[str, tuple[int, float | None]] = {}
        for source in (part.strip() for part in entry.fields.get("Sources", "").split(",")):
            session, _, turn = source.rpartition("#")
            if session not in self._sessions:
                self._sessions[session] = self._read(session)
            moment = self._sessions[session].get(turn)
            if moment is not None and (session not in found or found[session][0] < moment[0]):
                found[session] = moment
        return found

    def _read(self, session: str) -> _Moments:
        path = transcript.session_path(self._home, session) if session else None
        if path is None:
            return {}
        moments: dict[str, tuple[int, float | None]] = {}
        with suppress(OSError):  # without the transcript, the order of the file stands
            for place, turn in enumerate(transcript.read(path)):
                moments[turn.message.id] = place, _seconds(turn.message.ts)
        return moments


def _seconds(ts: str) -> float | None:
    """Return the time *ts* in seconds, or ``None`` where it is no time."""
    try:
        return parse_time(ts).timestamp()
    except ValueError:
        return None
