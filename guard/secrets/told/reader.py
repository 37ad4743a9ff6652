"""A second reading of candidates for told secrets, with the words' vectors of the guard's network.

The linear models of :mod:`guard.secrets.told.model` are quick and see words one by one. What they find possible is read
again here: a small network over the vectors of the candidate's tokens and of the tokens beside it. Its score
and theirs are added. ``bench/training/transformer/told_reader.py`` trains it and writes ``reader.npz``: ``inner``,
(1152, 64), ``inner_bias``, (64,), ``outer``, (64,), and ``numbers``, which are the last bias, the share of this score,
and what the sum must exceed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guard.inference.passage_network import open_network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from guard.inference.passage_network import PassageNetwork

__all__ = ["WEIGHTS", "ToldReader", "candidate_vectors", "told_reader"]

WEIGHTS = Path(__file__).with_name("reader.npz")

_BEFORE, _WINDOW, _BEHIND = 160, 320, 60
"""Characters before the first candidate of a window, of a whole window, and behind its last candidate."""

_MOST_WINDOWS = 6
"""Windows of one text. Candidates in others have the score of the linear models alone."""


class ToldReader:
    """The network with its weights."""

    def __init__(self, network: PassageNetwork) -> None:
        import numpy as np

        self._network = network
        with np.load(WEIGHTS) as stored:
            self._inner = stored["inner"].astype(np.float32)
            self._inner_bias, self._outer = stored["inner_bias"], stored["outer"]
            self._bias, self.share, self.least = map(float, stored["numbers"])

    def scores(self, text: str, spans: Sequence[tuple[int, int]]) -> list[float | None]:
        """Return for each of *spans*, in order of their starts, how much it reads like a told secret, as a logit.

        A span without tokens has none.
        """
        import numpy as np

        found: list[float | None] = [None] * len(spans)
        vectors = candidate_vectors(self._network, text, spans)
        places = [place for place, vector in enumerate(vectors) if vector is not None]
        if places:
            rows = np.stack([vector for vector in vectors if vector is not None])
            scores = np.maximum(rows @ self._inner + self._inner_bias, 0) @ self._outer + self._bias
            for place, score in zip(places, scores, strict=True):
                found[place] = float(score)
        return found


@cache
def told_reader() -> ToldReader | None:
    """Return the reader, or ``None`` where the network cannot be loaded."""
    network = open_network()
    return None if network is None else ToldReader(network)


def candidate_vectors(
    network: PassageNetwork, text: str, spans: Sequence[tuple[int, int]]
) -> list[NDArray[Any] | None]:
    """Return for each of *spans* the mean vector of its tokens, and those of the tokens beside it: (1152,) float32."""
    import numpy as np

    found: list[NDArray[Any] | None] = []
    for first, last, start, end in _windows(text, spans):
        vectors, offsets = network.words(text[start:end])
        starts = np.array([start + place for place, _ in offsets])
        ends = np.array([start + place for _, place in offsets])
        for one, other in spans[first:last]:
            inside = np.flatnonzero((starts < other) & (ends > one))
            if not len(inside):
                found.append(None)
                continue
            begin, stop = int(inside[0]), int(inside[-1]) + 1
            beside = np.zeros_like(vectors[0])
            left = vectors[begin - 1] if begin > 0 else beside
            right = vectors[stop] if stop < len(vectors) else beside
            found.append(np.concatenate([vectors[begin:stop].mean(0), left, right]))
    return found + [None] * (len(spans) - len(found))


def _windows(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int, int]]:
    """Yield parts of *text* with the *spans* in them: the first one, the one behind the last, start and end."""
    first = 0
    for _ in range(_MOST_WINDOWS):
        if first >= len(spans):
            return
        start = max(0, spans[first][0] - _BEFORE) if len(text) > _WINDOW else 0
        if start:
            start = text.find(" ", start, spans[first][0]) + 1 or start
        end = max(start + _WINDOW, spans[first][1] + _BEHIND)
        last = first + 1
        while last < len(spans) and (spans[last][1] + _BEHIND <= end or end >= len(text)):
            last += 1
        yield first, last, start, min(end, len(text))
        first = last
