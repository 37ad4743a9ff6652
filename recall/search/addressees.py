"""People who are addressed by another name than the one on their turns: "Hey Kate" is said to Emi.

A word is taken for such a name when nearly only one person says it and mostly at the border of a turn, where people are
addressed. The person who talks with them is the one who is addressed. The words that also look like this are greetings
and interjections. No question writes those with a capital letter, which the caller checks.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..index.context_window import ContextWindows

__all__ = ["said_by_addressee"]

#: Least number of times that a name is said. With five, topics of one person count as names.
_SAID = 8
#: Least share of a name's occurrences that one person says, and of the turns around it that the other one says.
_ONE_PERSON = 0.9
#: Least share of a name's occurrences among the first three words of a turn or at its end.
_AT_BORDER, _FIRST_WORDS = 0.5, 3


class NameSpellings(Protocol):
    """The fields of a word of the query that are read."""

    @property
    def spellings(self) -> tuple[tuple[int, ...], ...]: ...


def said_by_addressee(
    windows: ContextWindows, sessions: npt.NDArray[np.bool_], term: NameSpellings
) -> npt.NDArray[np.bool_]:
    """Mark the turns of the person whom others address by *term*. *sessions* marks the turns of conversations."""
    nobody = np.zeros(len(windows), np.bool_)
    said = sum(float(windows.texts.times(codes)[sessions].sum()) for codes in term.spellings if len(codes) == 1)
    if said < _SAID:
        return nobody
    places = np.flatnonzero(np.isin(windows.texts.codes, [codes[0] for codes in term.spellings if len(codes) == 1]))
    places = places[sessions[windows.texts.owners[places]]]
    owners = windows.texts.owners[places]
    position = places - np.searchsorted(windows.texts.owners, owners)
    border = (position < _FIRST_WORDS) | (position == windows.lengths[owners] - 1)
    if border.mean() < _AT_BORDER:
        return nobody
    # A speaker is known by the sum of the codes of the words of the name.
    voices = np.bincount(windows.headings.owners, windows.headings.codes.astype(np.float64), len(windows)).astype(
        np.float64
    )
    speaker = _leading(voices[owners])
    if speaker is None:
        return nobody
    there = sessions & np.isin(windows.files, windows.files[owners[voices[owners] == speaker]])
    addressee = _leading(voices[there & (voices != speaker)])
    return nobody if addressee is None else np.asarray(sessions & (voices == addressee))


def _leading(voices: npt.NDArray[np.float64]) -> float | None:
    """Return the voice that nearly all of *voices* are."""
    found, counts = np.unique(voices, return_counts=True)
    if not len(found) or counts.max() < _ONE_PERSON * counts.sum():
        return None
    return float(found[counts.argmax()])
