"""A small transformer that judges how much a passage reads like an order to an assistant, and tells its topic.

The linear model of :mod:`guard.injection.classifier` is quick and lets through what is harmless in every word. What is
left, a fifth of harmless prose, is read here. ``bench/training/transformer`` trains the network and
writes its files:

- ``network.onnx``: the layers, in eight bits. Input is one vector a token, output is one number, and the mean of
  the tokens in the third layer: what the passage is about. Other models read that vector, and those of the words.
- ``network_vectors.npy``: the vectors of the tokens, (tokens, 192), two numbers of four bits in a byte.
- ``network_scales.npy``: the scale of each vector, (tokens,).
- ``network_vocabulary.txt``: one token a line, in the order of the vectors.
- ``network.json``: the digests of the others, and the numbers from which on scores count.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from guard.inference.address_space import lacking

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MAX_TOKENS",
    "NetworkNumbers",
    "PassageNetwork",
    "network_numbers",
    "network_problem",
    "open_network",
]

FOLDER = Path(__file__).with_name("weights")

MAX_TOKENS = 96
"""Tokens of a passage that are read."""

_START, _END, _UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
_HALF = 8
"""Four bits hold the numbers from -8 to 7, as 0 to 15."""

_REMEMBERED = 256
"""Passages whose scores are remembered: one is often read again after a replacement elsewhere."""


class NetworkNumbers(NamedTuple):
    """Numbers that join the network's scores with those of the linear model, from ``network.json``."""

    gate: float
    """Score of the linear model of instructions from which on a passage is read."""
    share: float
    """Part of the linear model's score that is added to the network's."""
    threshold: float
    """Sum from which on a passage of a text of one sentence is suspected."""
    rise: float
    """How much faster than for the linear score this threshold rises with the number of sentences."""


class PassageNetwork:
    """The network with its tokens. Equal passages have equal scores, on one machine and in every order."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """Load the files of *folder*. Takes about 100 ms and 60 MB.

        Raises:
            Exception: a file is missing or damaged, or a library cannot load it. The errors of onnxruntime and
                tokenizers have no narrower class.
        """
        import numpy as np

        from guard.inference.runtime import onnx_session

        self._session = onnx_session(folder / "network.onnx")
        self._tokens = _tokenizer(folder / "network_vocabulary.txt")
        self._vectors = np.load(folder / "network_vectors.npy", mmap_mode="r")
        self._scales = np.load(folder / "network_scales.npy")
        self._scores: dict[str, float] = {}
        self._topics: dict[str, NDArray[Any]] = {}

    def score(self, passage: str) -> float:
        """Return how much *passage*, its first 96 tokens, reads like an order to an assistant, as a logit."""
        known = self._scores.get(passage)
        if known is None:
            if len(self._scores) >= _REMEMBERED:
                self._scores.clear()
            known = self._scores[passage] = float(self._run("score", self._encoded(passage).ids).item())
        return known

    def topic(self, passage: str) -> NDArray[Any]:
        """Return what *passage*, its first 96 tokens, is about: (384,) float32, not normalised."""
        known = self._topics.get(passage)
        if known is None:
            if len(self._topics) >= _REMEMBERED:
                self._topics.clear()
            known = self._topics[passage] = self._run("topic", self._encoded(passage).ids)[0]
        return known

    def words(self, passage: str) -> tuple[NDArray[Any], list[tuple[int, int]]]:
        """Return the vectors of the tokens of *passage*, (tokens, 384) float32, and their spans in it, in order."""
        found = self._encoded(passage)
        return self._run("last_hidden_state", found.ids)[0, 1:-1], found.offsets[1:-1]

    def _encoded(self, passage: str) -> Any:
        """Return the tokens of *passage*, with a question mark for each half of a character, which they refuse."""
        return self._tokens.encode(passage.encode("utf-8", "replace").decode("utf-8"))

    def _run(self, output: str, ids: list[int]) -> NDArray[Any]:
        import numpy as np

        ones = np.ones((1, len(ids)), np.int64)
        given = {"word": self._input(ids), "attention_mask": ones, "token_type_ids": ones - 1}
        found: NDArray[Any] = self._session.run([output], given)[0]
        return found

    def _input(self, ids: list[int]) -> NDArray[Any]:
        """Return the vectors of the tokens *ids*: (1, tokens, 384)."""
        import numpy as np

        packed = self._vectors[ids]
        levels = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32) - _HALF
        vectors: NDArray[Any] = levels[None] * self._scales[ids].astype(np.float32)[None, :, None]
        return vectors


@cache
def network_numbers() -> NetworkNumbers:
    """Return the numbers of ``network.json``."""
    data = json.loads((FOLDER / "network.json").read_bytes())
    return NetworkNumbers(**{name: data[name] for name in NetworkNumbers._fields})


def open_network() -> PassageNetwork | None:
    """Load the network once a process. Returns ``None`` where its memory or its library is lacking."""
    found = _opened()
    return None if isinstance(found, str) else found


def network_problem() -> str:
    """Return why the network cannot be used, and what to do, or an empty string. Compares its files and loads them."""
    named: dict[str, str] = json.loads((FOLDER / "network.json").read_bytes())["sha256"]
    for name, digest in named.items():
        path = FOLDER / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            return f"{path} is missing or changed. Install agent-home again"
    found = _opened()
    return found if isinstance(found, str) else ""


@cache
def _opened() -> PassageNetwork | str:
    """Return the network, or why it cannot be loaded. The linear model decides alone then, and doctor tells why."""
    try:
        return lacking(sum(path.stat().st_size for path in FOLDER.glob("network*"))) or PassageNetwork()
    except Exception as error:  # noqa: BLE001 - the libraries share no narrower exception; the reason is returned
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}. Install agent-home again"


def _tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing

    vocabulary = {token: place for place, token in enumerate(path.read_text("utf-8").split("\n"))}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=_UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing((_END, vocabulary[_END]), (_START, vocabulary[_START]))
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
