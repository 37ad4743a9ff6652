"""Learn which English words Chinese terms of programming stand for, from translated manuals and messages of programs.

    python -m bench.training.terms [--manuals DIR] [--messages DIR]     write distill/evidence/data/learned_terms.txt

``--manuals`` is a folder of ``*.po`` files, such as the Chinese translation of Python's manual (CC0). ``--messages`` is
a folder of ``*.mo`` files, such as ``/usr/share/locale/zh_CN/LC_MESSAGES``. The table holds no sentence of them.

A sequence of at most four Han characters and a stem belong together when the sentences that have one mostly have the
other, measured by the Dice coefficient. Sequences that mostly stand within one longer known sequence are left out.
"""

import argparse
import ast
import gettext
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from distill.evidence.wording import parts_of
from recall.text.stems import stem
from recall.text.word_tables import word_table

__all__ = ["TERMS_FILE", "learned_terms", "main", "manual_pairs", "message_pairs"]

TERMS_FILE = Path(__file__).parents[2] / "distill" / "evidence" / "data" / "learned_terms.txt"
_RUN = re.compile("[\u4e00-\u9fff]+")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_MARKUP = re.compile(r":[\w:]+:`[^`]*`|``[^`]*``|`[^`]*`_*|%\(?\w*\)?[sd]|<[^>]*>|https?://\S+")
_LONGEST_TERM = 4
#: Characters of an English text above which a pair says little about single words.
_LONGEST_TEXT = 240
#: Fewest texts that have a term, and that have it together with a stem.
_FEWEST = 8
_FEWEST_TOGETHER = 5
_LEAST_DICE = 0.28
#: The same for a single character, which stands in many words.
_LEAST_DICE_OF_ONE = 0.33
#: Stems of one term: those with at least this share of the best one's coefficient, and at most so many.
_NEAR_BEST = 0.6
_MOST_STEMS = 3
#: Share of a sequence's texts from which on it is only a part of a longer one.
_MOSTLY_INSIDE = 0.9
#: Characters of grammar. A sequence with one of them at an end is no term.
_GRAMMAR = frozenset(
    "的了着过得地是在有把被将给为对从到往向跟和与及以或并但因所由这那个里中上下内外前后时当则会能可不没无未非别去来都也就又再"
    "才只仅一二两三四五六七八九十其它此该某每各之于而使"
)

Pair = tuple[str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table, one term a line with its stems, best first."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.terms", description="Learn Chinese terms.")
    parser.add_argument("--manuals", type=Path, help="folder with *.po files")
    parser.add_argument("--messages", type=Path, help="folder with *.mo files")
    options = parser.parse_args(arguments)
    pairs = list(manual_pairs(options.manuals)) if options.manuals else []
    pairs += message_pairs(options.messages) if options.messages else []
    found = learned_terms(pairs)
    head = "# Chinese terms and the stems of the English words that they translate, written by bench.training.terms.\n"
    lines = (f"{term} {' '.join(stems)}" for term, stems in sorted(found.items()))
    TERMS_FILE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(pairs)} pairs, {len(found)} terms")
    return 0


def learned_terms(pairs: Iterable[Pair]) -> dict[str, tuple[str, ...]]:
    """Return the stems of each Chinese term, best first, from pairs of an English and a Chinese text."""
    texts = [(_stems(english), _sequences(chinese)) for english, chinese in pairs]
    terms = Counter(term for _, found in texts for term in found)
    terms = Counter({term: count for term, count in terms.items() if count >= _FEWEST})
    words = Counter(word for found, _ in texts for word in found)
    together: dict[str, Counter[str]] = defaultdict(Counter)
    for english, chinese in texts:
        for term in chinese & terms.keys():
            together[term].update(english)
    inside = _parts(terms)
    chosen = {}
    for term, counts in together.items():
        if term in inside:
            continue
        scores = {
            word: 2 * count / (terms[term] + words[word]) for word, count in counts.items() if count >= _FEWEST_TOGETHER
        }
        best = max(scores.values(), default=0.0)
        least = max(_LEAST_DICE if len(term) > 1 else _LEAST_DICE_OF_ONE, _NEAR_BEST * best)
        near = sorted(word for word, score in scores.items() if score >= least)
        if near:
            chosen[term] = tuple(sorted(near, key=lambda word: -scores[word])[:_MOST_STEMS])
    return chosen


def manual_pairs(folder: Path) -> Iterator[Pair]:
    """Yield the messages of ``*.po`` files with their translations."""
    for path in sorted(folder.rglob("*.po")):
        entry: dict[str, str] = {}
        key = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            name, _, rest = line.partition(" ")
            if name == "msgid":
                yield from _pair(entry)
                entry = {}
            named = name in {"msgid", "msgstr"}
            key, text = (name, rest) if named else (key, line)
            if text.startswith('"') and key:
                entry[key] = entry.get(key, "") + str(ast.literal_eval(text))
            elif not line:
                key = ""
        yield from _pair(entry)


def message_pairs(folder: Path) -> Iterator[Pair]:
    """Yield the messages of ``*.mo`` files with their translations."""
    for path in sorted(folder.glob("*.mo")):
        if path.name.startswith("iso_"):  # names of countries, languages and scripts
            continue
        with path.open("rb") as file:
            catalogue = gettext.GNUTranslations(file)
        for key, text in vars(catalogue)["_catalog"].items():
            yield from _pair({"msgid": key if isinstance(key, str) else key[0], "msgstr": text})


def _pair(entry: dict[str, str]) -> Iterator[Pair]:
    english, chinese = entry.get("msgid", ""), entry.get("msgstr", "")
    if english and chinese and len(english) <= _LONGEST_TEXT:
        yield _MARKUP.sub(" ", english), _MARKUP.sub(" ", chinese)


def _stems(text: str) -> frozenset[str]:
    words = {part for word in _WORD.findall(text) for part in parts_of(word)} - word_table("function_words")
    return frozenset(stem(word) for word in words if len(word) > 2)


def _sequences(text: str) -> frozenset[str]:
    return frozenset(
        run[at : at + size]
        for run in _RUN.findall(text)
        for size in range(1, _LONGEST_TERM + 1)
        for at in range(len(run) - size + 1)
        if not {run[at], run[at + size - 1]} & _GRAMMAR
    )


def _parts(terms: Counter[str]) -> set[str]:
    """Return the sequences that nearly always stand within one longer sequence."""
    found = set()
    for term, count in terms.items():
        for part in (term[1:], term[:-1]):
            if len(part) > 1 and count >= _MOSTLY_INSIDE * terms[part]:
                found.add(part)
    return found


if __name__ == "__main__":
    sys.exit(main())
