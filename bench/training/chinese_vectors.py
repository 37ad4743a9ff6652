"""Learn the table of Chinese vectors that :mod:`recall.embedding.chinese` reads, and measure it on people left out.

    python -m bench.training.chinese_vectors --data DIR [--tatoeba FILE] [--cldr DIR] [--messages DIR]
                                             [--leave-out NAME ...] [--cache FILE] [--out FILE]

The teacher is the default model, reading the English side of parallel texts. The pupil is a table of rows for sequences
of Han characters. Rows are fitted so that the sum of a Chinese text's rows points where the teacher puts its
translation, and nearer there than to the other translations of its batch. A share of the sequences is dropped in each
step, so that rare ones do not learn texts by heart. The rows live in the main directions of the teacher's vectors.

Parallel texts, each optional:

- ``DIR/lifebench``: items and questions of the same people in both languages, by their addresses.
- ``--tatoeba``: sentence pairs, ``ENGLISH<tab>CHINESE`` a line, as tatoeba.org's exports are often shared.
- ``--cldr``: a checkout of ``unicode-org/cldr-json``: names and keywords of signs, emoji, countries and languages.
- ``--messages``: a folder of ``*.mo`` files, such as ``/usr/share/locale/zh_CN/LC_MESSAGES``: messages of programs.

``--leave-out`` keeps people out of the training and measures on them: the share of items whose vector is nearest to
their own translation, and the gold items found by a question's vector alone, in Chinese and in English.
"""

from __future__ import annotations

import argparse
import gettext
import gzip
import hashlib
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from recall.embedding.chinese import ChineseTable, grams
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.evaluation.metrics import measure, read_cases

__all__ = ["ParallelText", "Training", "learn", "lifebench_pairs", "main", "read_pairs", "table_bytes"]

Matrix = npt.NDArray[np.float32]

#: Characters of a Chinese text above which its pair is left out: the teacher reads 256 tokens.
_LONGEST_TEXT = 500
#: Characters of a program's message above which its pair is left out.
_LONGEST_MESSAGE = 160
#: Messages that are drawn. They are many, and talk about less than the other texts.
_MESSAGES = 7_000
_CJK = re.compile("[\u3400-\u9fff]")
#: Targets of a batch that are as near as this are the same statement, and no examples of a wrong answer.
_SAME = 0.95
#: Bounds what a step of one batch may change in a row.
_STEP = 0.1


@dataclass(frozen=True, slots=True)
class ParallelText:
    """A Chinese text and its English translation."""

    chinese: str
    english: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Numbers of the training.

    Attributes:
        rows: sequences that get a row, the most frequent ones.
        width: length of a row.
        occurrences: texts in which a sequence must stand to get a row.
        epochs: times that each pair is read.
        batch: pairs of one step.
        rate: size of the first steps. Later ones are smaller.
        temperature: divisor of the cosines before they compete.
        competition: weight of the competition beside the cosine.
        dropped: share of the sequences that are left out in a step.
        seconds: limit of the training.
    """

    rows: int = 21_000
    width: int = 160
    occurrences: int = 3
    epochs: int = 6
    batch: int = 384
    rate: float = 0.5
    temperature: float = 0.05
    competition: float = 0.05
    dropped: float = 0.3
    seconds: float = 300.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, measure on the people left out, and write the table. Return the exit code."""
    parser = argparse.ArgumentParser(prog="bench.training.chinese_vectors", description="Learn Chinese vectors.")
    parser.add_argument("--data", type=Path, help="folder with the folder lifebench")
    parser.add_argument("--tatoeba", type=Path, help="sentence pairs, English first")
    parser.add_argument("--cldr", type=Path, help="checkout of unicode-org/cldr-json")
    parser.add_argument("--messages", type=Path, help="folder of .mo files")
    parser.add_argument("--leave-out", action="append", default=[], help="a person to measure on")
    parser.add_argument("--cache", type=Path, help="file that keeps the teacher's vectors between runs")
    parser.add_argument("--out", type=Path, help="where the table is written")
    given = parser.parse_args(arguments)
    embedder = open_embedder(EmbeddingSettings(threads=1), build_missing=True, progress=_say)
    if isinstance(embedder, NoEmbedder):
        _say(f"no teacher: {embedder.reason}")
        return 1
    lifebench = given.data / "lifebench" if given.data else None
    pairs = read_pairs(
        lifebench=lifebench, leave_out=given.leave_out, tatoeba=given.tatoeba, cldr=given.cldr, messages=given.messages
    )
    if not pairs:
        _say("no parallel texts were given. Name at least one source")
        return 1
    teacher = _Teacher(embedder, given.cache)
    targets = teacher.embed([pair.english for pair in pairs])
    table = learn(pairs, targets, Training())
    content = table_bytes(table)
    _say(f"{len(pairs)} pairs, {len(table.places)} rows, {len(content) / 1e6:.2f} MB")
    if given.out:
        given.out.write_bytes(content)
    for person in given.leave_out if lifebench else ():
        print(_measured(lifebench, person, table, teacher))
    return 0


# ---------------------------------------------------------------------------------------------------- parallel texts


def read_pairs(
    *,
    lifebench: Path | None = None,
    leave_out: Sequence[str] = (),
    tatoeba: Path | None = None,
    cldr: Path | None = None,
    messages: Path | None = None,
) -> list[ParallelText]:
    """Return the distinct pairs of all sources that are given, without the people of *leave_out*."""
    found: dict[ParallelText, None] = {}
    for path in sorted(lifebench.glob("*.zh.transcript.jsonl.gz")) if lifebench else ():
        person = path.name.partition(".")[0]
        if lifebench and person not in leave_out:
            found |= dict.fromkeys(lifebench_pairs(lifebench, person))
    for source in (
        _tatoeba_pairs(tatoeba) if tatoeba else (),
        _cldr_pairs(cldr) if cldr else (),
        _message_pairs(messages) if messages else (),
    ):
        found |= dict.fromkeys(source)
    return [
        pair
        for pair in found
        if len(pair.chinese) < _LONGEST_TEXT and _CJK.search(pair.chinese) and not _CJK.search(pair.english)
    ]


def lifebench_pairs(folder: Path, person: str) -> list[ParallelText]:
    """Return the items and questions of *person* that exist in both languages."""
    texts = {language: dict(_lifebench_texts(folder, person, language)) for language in ("zh", "en")}
    return [ParallelText(text, texts["en"][address]) for address, text in texts["zh"].items() if address in texts["en"]]


def _lifebench_texts(folder: Path, person: str, language: str) -> Iterator[tuple[str, str]]:
    with gzip.open(folder / f"{person}.{language}.transcript.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield f"{row['session']}#{row['id']}", row["content"]
    with (folder / f"{person}.{language}.queries.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield row["id"], row["query"]


def _tatoeba_pairs(path: Path) -> Iterator[ParallelText]:
    for line in path.read_text("utf-8").splitlines():
        english, chinese, *_ = [*line.split("\t"), "", ""]
        if english and chinese:
            yield ParallelText(chinese, english)


def _cldr_pairs(folder: Path) -> Iterator[ParallelText]:
    base = folder / "cldr-json"
    for package, key in (("annotations", "annotations"), ("annotations-derived", "annotationsDerived")):
        place = base / f"cldr-{package}-full" / key
        chinese, english = (
            json.loads((place / language / "annotations.json").read_text("utf-8"))[key]["annotations"]
            for language in ("zh", "en")
        )
        for sign in chinese.keys() & english.keys():
            if "\U0001f3fb" <= sign[-1] <= "\U0001f3ff":  # the same sign in another skin tone
                continue
            for kind in ("tts", "default"):
                if kind in chinese[sign] and kind in english[sign]:
                    yield ParallelText("，".join(chinese[sign][kind]), ", ".join(english[sign][kind]))
    for name in ("territories", "languages"):
        chinese, english = (
            next(iter(json.loads(path.read_text("utf-8"))["main"].values()))["localeDisplayNames"][name]
            for path in (
                base / "cldr-localenames-full" / "main" / language / f"{name}.json" for language in ("zh", "en")
            )
        )
        for code in sorted(chinese.keys() & english.keys()):
            yield ParallelText(chinese[code], english[code])


def _message_pairs(folder: Path) -> list[ParallelText]:
    found: dict[ParallelText, None] = {}
    for path in sorted(folder.glob("*.mo")):
        with path.open("rb") as file:
            catalogue = vars(gettext.GNUTranslations(file))["_catalog"]
        for key, text in catalogue.items():
            english = key.rpartition("\x04")[2].replace("_", "") if isinstance(key, str) else ""
            if english and len(english) < _LONGEST_MESSAGE and _CJK.search(text):
                found[ParallelText(re.sub(r"\(_?[A-Z]\)", "", text).replace("_", ""), english)] = None
    ordered = sorted(found, key=lambda pair: (pair.english, pair.chinese))
    random.Random(1).shuffle(ordered)  # noqa: S311 - a sample, not a secret
    return ordered[:_MESSAGES]


# ----------------------------------------------------------------------------------------------------------- learning


def learn(pairs: Sequence[ParallelText], targets: Matrix, numbers: Training) -> ChineseTable:
    """Return a table for *pairs*, whose English sides have the unit vectors *targets*. Equal inputs give equal tables.

    Raises:
        ValueError: no sequence is frequent enough, or there are fewer pairs than a batch has.
    """
    documents = [Counter(grams(pair.chinese)) for pair in pairs]
    sequences = _frequent(documents, numbers)
    places = {sequence: place for place, sequence in enumerate(sequences)}
    rows = [_row(document, places) for document in documents]
    known = [number for number, (at, _) in enumerate(rows) if len(at)]
    if not sequences or len(known) < numbers.batch:
        raise ValueError(f"{len(known)} of {len(pairs)} pairs can be read, expected at least {numbers.batch}")
    basis = _main_directions(targets, numbers.width)
    learned = _fit([rows[number] for number in known], targets[known] @ basis.T, len(sequences), numbers)
    scales = np.maximum(np.abs(learned).max(axis=1), 1e-6) / 127
    levels = np.rint(learned / scales[:, None]).astype(np.int8)
    return ChineseTable(places=places, levels=levels, scales=scales, basis=basis)


def table_bytes(table: ChineseTable) -> bytes:
    """Return the table as the NumPy archive that :meth:`ChineseTable.from_bytes` reads."""
    buffer = BytesIO()
    sequences = np.frombuffer("\n".join(table.places).encode(), np.uint8)
    scales, basis = table.scales.astype(np.float16), table.basis.astype(np.float16)
    np.savez(buffer, sequences=sequences, levels=table.levels, scales=scales, basis=basis)
    return buffer.getvalue()


def _frequent(documents: Iterable[Mapping[str, int]], numbers: Training) -> list[str]:
    """Return the most frequent sequences, the most frequent first."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(document.keys())
    enough = [(sequence, count) for sequence, count in counts.items() if count >= numbers.occurrences]
    return [sequence for sequence, _ in sorted(enough, key=lambda item: (-item[1], item[0]))[: numbers.rows]]


def _row(document: Mapping[str, int], places: Mapping[str, int]) -> tuple[npt.NDArray[np.int64], Matrix]:
    known = [(places[sequence], count) for sequence, count in document.items() if sequence in places]
    at = np.array([place for place, _ in known], np.int64)
    return at, np.sqrt(np.array([count for _, count in known], np.float32))


def _main_directions(targets: Matrix, width: int) -> Matrix:
    """Return *width* orthogonal directions that hold most of *targets*, row by row."""
    _, vectors = np.linalg.eigh(targets.T.astype(np.float64) @ targets)
    return np.ascontiguousarray(vectors[:, ::-1][:, : min(width, targets.shape[1])].T, np.float32)


def _fit(rows: Sequence[tuple[npt.NDArray[np.int64], Matrix]], targets: Matrix, size: int, numbers: Training) -> Matrix:
    """Return the vectors of *size* sequences, fitted step by step with a step size for each of them."""
    random_numbers = np.random.default_rng(0)
    table = random_numbers.normal(0, 0.01, (size, targets.shape[1])).astype(np.float32)
    moved = np.full(size, 1e-6, np.float32)
    start, batches = time.monotonic(), len(rows) // numbers.batch
    for epoch in range(numbers.epochs):
        order = random_numbers.permutation(len(rows))
        cosines = []
        for number in range(batches):
            chosen = order[number * numbers.batch : (number + 1) * numbers.batch]
            used, counts = _counts([rows[place] for place in chosen], random_numbers, numbers.dropped)
            gradient, cosine = _gradient(counts @ table[used], targets[chosen], numbers)
            change = counts.T @ gradient / np.sqrt(np.float32(numbers.batch))
            moved[used] += (change * change).mean(axis=1)
            left = max(0.05, 1 - (epoch + number / batches) / numbers.epochs)
            table[used] -= _STEP * numbers.rate * left * change / np.sqrt(moved[used])[:, None]
            cosines.append(cosine)
        _say(f"epoch {epoch + 1}: mean cosine {np.mean(cosines):.3f}, {time.monotonic() - start:.0f} s")
        if time.monotonic() - start > numbers.seconds:
            break
    return table


def _counts(
    rows: Sequence[tuple[npt.NDArray[np.int64], Matrix]], random_numbers: np.random.Generator, dropped: float
) -> tuple[npt.NDArray[np.int64], Matrix]:
    """Return the sequences of a batch and their weights by text, each text of length one, without a random share."""
    at = np.concatenate([place for place, _ in rows])
    used, column = np.unique(at, return_inverse=True)
    weights = np.concatenate([weight for _, weight in rows]) * (random_numbers.random(len(at)) >= dropped)
    counts = np.zeros((len(rows), len(used)), np.float32)
    counts[np.repeat(np.arange(len(rows)), [len(place) for place, _ in rows]), column] = weights
    return used, counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-6)


def _gradient(sums: Matrix, targets: Matrix, numbers: Training) -> tuple[Matrix, float]:
    """Return the gradient of the loss by *sums*, and the mean cosine of *sums* and *targets*.

    The loss is the negative cosine, and the competition of a batch's targets for a text and of its texts for a target.
    """
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    units = sums / lengths
    same = targets @ targets.T > _SAME
    np.fill_diagonal(same, val=False)
    wrong = np.zeros_like(units)
    for logits, turned in ((units @ targets.T, False), (targets @ units.T, True)):
        shares = np.where(same, -np.inf, logits / numbers.temperature)
        shares = np.exp(shares - shares.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[np.diag_indices_from(shares)] -= 1
        wrong += (shares.T if turned else shares) @ targets
    by_unit = numbers.competition / numbers.temperature * wrong - targets
    along = (by_unit * units).sum(axis=1, keepdims=True)
    return np.asarray((by_unit - along * units) / lengths, np.float32), float((units * targets).sum(axis=1).mean())


# ---------------------------------------------------------------------------------------------------------- measuring


class _Teacher:
    """The default model, with vectors that may be kept in a file between runs."""

    def __init__(self, embedder: Embedder, path: Path | None) -> None:
        self._embedder, self._path = embedder, path
        self._known: dict[bytes, Matrix] = {}
        if path is not None and path.exists():
            with np.load(path) as stored:
                self._known = dict(zip(map(bytes, stored["keys"]), stored["vectors"], strict=True))

    def embed(self, texts: Sequence[str]) -> Matrix:
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            self._known |= zip(new, self._embedder.embed(list(new.values())).astype(np.float16), strict=True)
            if self._path is not None:
                stored = np.array([list(key) for key in self._known], np.uint8)
                np.savez(self._path, keys=stored, vectors=np.stack(list(self._known.values())))
        return _units(np.stack([self._known[key] for key in keys]).astype(np.float32))


def _measured(folder: Path | None, person: str, table: ChineseTable, teacher: _Teacher) -> str:
    """Return a line of figures for a person whose texts were left out."""
    if folder is None:
        return ""
    chinese, english = (
        {address: text for address, text in _lifebench_texts(folder, person, language) if "#" in address}
        for language in ("zh", "en")
    )
    vectors = _units(np.stack([table.encode(text) for text in chinese.values()]))
    both = [(place, address) for place, address in enumerate(chinese) if address in english]
    translations = teacher.embed([english[address] for _, address in both])
    own = (vectors[[place for place, _ in both]] @ translations.T).argmax(axis=1) == np.arange(len(both))
    line = f"{person}: own translation nearest {own.mean():.3f} of {len(both)}"
    addresses = list(chinese)
    for language in ("zh", "en"):
        rows = []
        for case in read_cases(folder / f"{person}.{language}.queries.jsonl"):
            if case.expect:
                query = table.encode(case.query) if language == "zh" else teacher.embed([case.query])[0]
                best = np.argsort(-(vectors @ query), kind="stable")[:10]
                rows.append(measure([addresses[place] for place in best], case.expect, (5, 10)))
        shares = "/".join(f"{np.mean([row[name] for row in rows]):.3f}" for name in ("frac@5", "frac@10"))
        line += f"; {language} questions, vectors alone {shares}"
    return line


def _units(vectors: Matrix) -> Matrix:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), np.float32)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
