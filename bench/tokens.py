"""Calibration of the token estimator against real vocabularies, and the measurement of its error.

Owns the table of ``agent_home.token_weights`` and the numbers in ``docs/tokens.md``. It needs the dependency group
``bench``. litellm carries the vocabularies as data files and is never imported. tiktoken reads two of them. tokenizers
reads two more that play no part in the calibration. Nothing is downloaded.

The texts are files of the machine: the Python standard library, Markdown, JSON and Python files of the installed
packages, translated program messages and manual pages, the samples written for this project, and every ``--data``
folder. Half of the files (by a checksum of the name) calibrate. The other half, the samples and the ``--data`` folders
are only measured.

    python -m bench.tokens                       print the table
    python -m bench.tokens --data FOLDER         with more text: .py .md .json .txt, and .jsonl with text fields
    python -m bench.tokens --write-weights       rebuild agent_home/token_weights.py (half a minute)
    python -m bench.tokens --loading             print what loading a real vocabulary costs
    python -m bench.tokens --write-docs          put the tables into docs/tokens.md and the counts beside the samples
"""

import argparse
import base64
import gettext
import gzip
import importlib.util
import json
import os
import re
import statistics
import sys
import sysconfig
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tiktoken
from tokenizers import Tokenizer

from agent_home.tokens import TokenTable, count_tokens, pretokenize

from .measure.page import markdown, put
from .measure.vocabulary_load import HEAD, measure_loading, table_row

__all__ = ["main", "measure", "render", "render_loading", "render_others", "texts"]

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "bench" / "token_samples"
WEIGHTS = ROOT / "agent_home" / "token_weights.py"
DOCS = ROOT / "docs" / "tokens.md"
LANGUAGES = ("English", "Chinese", "Japanese", "Korean", "Python", "Markdown", "JSON")

# litellm's file names; the first two are tiktoken's cache names, so tiktoken finds and verifies them itself.
RANKS = {
    "cl100k": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
OTHERS = {"Claude (2023)": "anthropic_tokenizer.json", "DeepSeek": "deepseek_tokenizer.json"}

# Which tokens enter the packed table: all below a rank (the most common ones), runs of signs up to another, and what
# Chinese, Japanese and Korean need. About 60 KB of text per vocabulary.
COMMON_RANK = {"cl100k": 22_000, "o200k": 17_000}
SIGNS_RANK = 100_000
CJK_RANK = {"cl100k": 1 << 30, "o200k": 120_000}
LONGEST_SIGNS_BYTES = 6
# Rules such as ---- in tables: many lengths have their own token, some of a high rank.
LONGEST_RULE_BYTES = 66
# The sum is raised until the middle language is this far above the truth: too many tokens is the harmless side.
AIM = 1.015

MAX_FILES = 250
MAX_CHARACTERS = 60_000
MIN_CHARACTERS = 300
# A single text with fewer tokens says little about the error in per cent.
MIN_TOKENS = 300
# The samples are short: counting them as often takes long enough to be timed.
_SAMPLE_REPEATS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationText:
    """One file's text: *part* is calibration, held-out, samples or data."""

    language: str
    name: str
    part: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """The texts of one language and part: sums, and the error of the single texts that are long enough to have one."""

    language: str
    part: str
    characters: int
    real: Mapping[str, Sequence[int]]
    estimate: Mapping[str, Sequence[int]]
    quarter: int
    words: int

    def error(self, vocabulary: str, estimated: str | None = None) -> str:
        """Return the error of the total against a real *vocabulary*. *estimated* names another table than its own."""
        return _percent(sum(self.estimate[estimated or vocabulary]), sum(self.real[vocabulary]))

    def range(self, vocabulary: str) -> str:
        """Return the lowest and the highest error of a single text."""
        pairs = zip(self.estimate[vocabulary], self.real[vocabulary], strict=True)
        ratios = sorted((guess / real, guess, real) for guess, real in pairs if real >= MIN_TOKENS)
        return f"{_percent(*ratios[0][1:])} to {_percent(*ratios[-1][1:])}" if ratios else "-"


# ---------------------------------------------------------------------------------------------------- vocabularies


@cache
def _folder() -> Path:
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("litellm is not installed, its vocabulary files are needed; run `make bench`")
    return Path(spec.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"


@cache
def real_counter(vocabulary: str) -> Callable[[str], int]:
    """Return the function that counts with a vocabulary of `RANKS` or `OTHERS`. Special tokens are plain text to it."""
    if vocabulary in OTHERS:
        tokenizer = Tokenizer.from_file(str(_folder() / OTHERS[vocabulary]))
        return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_folder())
    encoding = tiktoken.get_encoding(f"{vocabulary}_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def _ranks(vocabulary: str) -> dict[bytes, int]:
    lines = (_folder() / RANKS[vocabulary]).read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}


# ------------------------------------------------------------------------------------------------------------ texts


def texts(data: Sequence[Path] = ()) -> list[CalibrationText]:
    """Return all texts: samples, the machine's files (split in halves by name), then the *data* folders."""
    found = list(_files(SAMPLES, "samples"))
    for language, name, text in _machine():
        part = "held-out" if zlib.crc32(name.encode()) & 1 else "calibration"
        found.append(CalibrationText(language=language, name=name, part=part, text=text[:MAX_CHARACTERS]))
    for folder in data:
        found.extend(_files(folder, "data"))
    return found


def _files(folder: Path, part: str) -> Iterator[CalibrationText]:
    by_suffix = {".py": "Python", ".md": "Markdown", ".json": "JSON", ".txt": ""}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name == "counts.json" or path.suffix not in {*by_suffix, ".jsonl"}:
            continue
        text = path.read_text("utf-8", errors="replace")
        if path.suffix == ".jsonl":
            yield CalibrationText(language="JSON", name=name, part=part, text=text[:MAX_CHARACTERS])
            text = "\n".join(value for line in text.splitlines() if line for value in _strings(json.loads(line)))
        yield CalibrationText(
            language=by_suffix.get(path.suffix, "") or _language(text), name=name, part=part, text=text
        )


def _strings(value: Any) -> Iterator[str]:
    """Yield the sentences inside a JSON value: strings with a space, or longer than any identifier."""
    if isinstance(value, str) and (" " in value or len(value) > 40):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _language(text: str) -> str:
    letters = sum(map(str.isalpha, text)) or 1
    if len(re.findall(r"[\u3040-\u30ff]", text)) > 0.1 * letters:
        return "Japanese"
    if len(re.findall(r"[\uac00-\ud7a3]", text)) > 0.1 * letters:
        return "Korean"
    return "Chinese" if len(re.findall(r"[\u4e00-\u9fff]", text)) > 0.1 * letters else "English"


def _machine() -> Iterator[tuple[str, str, str]]:
    library, packages = (Path(sysconfig.get_path(key)) for key in ("stdlib", "purelib"))
    for path in sorted(library.glob("*.py")):
        yield "Python", f"stdlib {path.name}", path.read_text("utf-8", errors="replace")
    folders = {".py": [packages], ".md": [packages, Path("/usr/lib/node_modules")]}
    folders[".json"] = folders[".md"]
    for language, suffix in (("Python", ".py"), ("Markdown", ".md"), ("JSON", ".json")):
        paths = [path for folder in folders[suffix] for path in folder.rglob(f"*{suffix}")]
        paths.sort(key=lambda path: zlib.crc32(path.name.encode()))
        for path in paths[:MAX_FILES]:
            text = path.read_text("utf-8", errors="replace")
            if len(text) >= MIN_CHARACTERS and not text.startswith("version https://git-lfs"):
                yield language, f"package {path.name}", text
                if suffix == ".json":
                    yield from _reformatted(path, text)
    for language, code in (("Chinese", "zh_CN"), ("Japanese", "ja"), ("Korean", "ko")):
        yield from _translated(language, code)
    for code in ("ru", "uk", "el", "ar", "he", "th", "hi"):
        yield from _translated("other", code)
    yield from _documentation()


def _reformatted(path: Path, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the same JSON on one line and indented by two. Both are common in prompts."""
    try:
        value = json.loads(text)
    except ValueError:
        return
    yield "JSON", f"one line {path.name}", json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    yield "JSON", f"indented {path.name}", json.dumps(value, indent=2)


def _translated(language: str, code: str) -> Iterator[tuple[str, str, str]]:
    """Yield program messages and manual pages in one language, where the machine has them."""
    for path in sorted(Path(f"/usr/share/locale/{code}/LC_MESSAGES").glob("*.mo")):
        if not path.name.startswith("iso_"):
            with path.open("rb") as file:
                catalogue = gettext.GNUTranslations(file)
            source = vars(catalogue)["_catalog"]
            text = "\n".join(message for key, message in source.items() if key and isinstance(message, str))
            if len(text) >= MIN_CHARACTERS:
                yield language, f"messages {code} {path.name}", text
    for path in sorted(Path(f"/usr/share/man/{code}").glob("man*/*.gz")):
        text = gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace")
        text = re.sub(r"^[.'].*$|\\f.|\\", "", text, flags=re.MULTILINE)
        if len(text) >= MIN_CHARACTERS and (language == "other" or _language(text) == language):
            yield language, f"manual {code} {path.name}", re.sub(r"\n{3,}", "\n\n", text)


def _documentation() -> Iterator[tuple[str, str, str]]:
    """Yield English prose: docstrings of the standard library, and descriptions of packages."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        found = re.findall(r'"""(.+?)"""', path.read_text("utf-8", errors="replace"), flags=re.DOTALL)
        text = "\n\n".join(found)
        if len(text) >= MIN_CHARACTERS:
            yield "English", f"docstrings {path.name}", text
    for path in sorted(Path(sysconfig.get_path("purelib")).glob("*.dist-info/METADATA")):
        text = path.read_text("utf-8", errors="replace").partition("\n\n")[2]
        if len(text) >= MIN_CHARACTERS:
            yield "English", f"description {path.parent.name}", text


# ------------------------------------------------------------------------------------------------------ calibration


def entries(vocabulary: str) -> list[bytes]:
    """Return the tokens of *vocabulary* that enter the packed table, sorted."""
    kept = []
    for token, rank in _ranks(vocabulary).items():
        if len(token) < 2 or not token.strip() or b"\xff" in token:
            continue
        if re.fullmatch(r" ?([^\sA-Za-z0-9])\1+[\s)]*", token.decode("utf-8", "ignore")):
            useful = len(token) <= LONGEST_RULE_BYTES
        elif token.isascii() and not re.search(rb"[A-Za-z]", token):
            useful = rank < SIGNS_RANK and len(token) <= LONGEST_SIGNS_BYTES
        else:
            useful = not token.isascii() and (len(token) <= 4 or (rank < CJK_RANK[vocabulary] and _is_wide(token)))
        if (useful or rank < COMMON_RANK[vocabulary]) and len(token) <= LONGEST_RULE_BYTES:
            kept.append(token)
    return sorted(kept)


def _is_wide(token: bytes) -> bool:
    return re.search(r"[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]", token.decode("utf-8", "ignore")) is not None


def shares(vocabulary: str, table: TokenTable, pieces: Mapping[str, Counter[str]]) -> dict[str, int]:
    """Return for each kind of piece the tokens that one further entry stands for, in thousandths.

    Every language of *pieces* has the same weight, whatever the amount of its text.
    """
    real = real_counter(vocabulary)
    weights: dict[str, float] = defaultdict(float)
    for counted in pieces.values():
        total = counted.total()
        for piece, times in counted.items():
            weights[piece] += times / total
    tokens: dict[str, float] = defaultdict(float)
    covered: dict[str, float] = defaultdict(float)
    for piece, weight in weights.items():
        fixed, kind, further = table.cover(piece)
        if further:
            covered[kind] += weight * further
            tokens[kind] += weight * (real(piece) - fixed)
    return {kind: max(0, round(1000 * tokens[kind] / covered[kind])) for kind in sorted(covered)}


def margin(vocabulary: str, table: TokenTable, share: Mapping[str, int], calibration: Iterable[CalibrationText]) -> int:
    """Return the factor of the sum, in thousandths, that brings the median language to `AIM`."""
    real = real_counter(vocabulary)
    truth: Counter[str] = Counter()
    pieces = _pieces(calibration)
    for text in calibration:
        truth[text.language] += real(text.text)
    ratios = []
    for language in LANGUAGES:
        guess = 0
        for piece, times in pieces[language].items():
            fixed, kind, further = table.cover(piece)
            guess += times * (1000 * fixed + further * share.get(kind, 1000))
        ratios.append(guess / 1000 / truth[language])
    return round(1000 * AIM / statistics.median(ratios))


def _pieces(calibration: Iterable[CalibrationText]) -> dict[str, Counter[str]]:
    """Count each piece, by language."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for text in calibration:
        found[text.language].update(pretokenize(text.text))
    return found


def weights(calibration: Sequence[CalibrationText]) -> str:
    """Return the source of ``agent_home/token_weights.py``."""
    head = '"""Made by `python -m bench.tokens --write-weights`: the most common tokens of each vocabulary, packed."""'
    parts = [head, '__all__ = ["VOCABULARIES"]']
    rows = []
    for vocabulary in RANKS:
        kept = entries(vocabulary)
        table = TokenTable(kept)
        share = shares(vocabulary, table, _pieces(calibration))
        packed = _pack(kept)
        lines = "\n".join(packed[start : start + 120] for start in range(0, len(packed), 120))
        parts.append(f'_{vocabulary.upper()} = """\n{lines}\n"""')
        listed = "".join(f'            "{kind}": {thousandths},\n' for kind, thousandths in share.items())
        factor = margin(vocabulary, table, share, calibration)
        values = f"        _{vocabulary.upper()},\n        {{\n{listed}        }},\n        {factor},\n"
        rows.append(f'    "{vocabulary}": (\n{values}    ),\n')
    meaning = (
        "# Packed entries, the share that each further entry of a piece costs, and the margin on the sum (thousandths)."
    )
    parts.append(f"{meaning}\nVOCABULARIES: dict[str, tuple[str, dict[str, int], int]] = {{\n{''.join(rows)}}}\n")
    return "\n\n".join(parts)


def _pack(kept: Sequence[bytes]) -> str:
    lines = []
    before = b""
    for entry in kept:
        shared = next((i for i, (one, other) in enumerate(zip(before, entry, strict=False)) if one != other), None)
        shared = min(len(before), len(entry)) if shared is None else shared
        lines.append(bytes([shared]) + entry[shared:])
        before = entry
    return base64.b85encode(zlib.compress(b"\xff".join(lines), 9)).decode("ascii")


# ------------------------------------------------------------------------------------------------------ measurement


def measure(found: Iterable[CalibrationText], vocabularies: Sequence[str] = tuple(RANKS)) -> list[ErrorRow]:
    """Return one row per language and part, in the order of `LANGUAGES`. Calibration texts are left out.

    *vocabularies* names the real ones to count with. The estimate is made for each of `RANKS`.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for text in found:
        groups[text.language, text.part].append(text.text)
    rows = []
    for language in LANGUAGES:
        for part in ("samples", "held-out", "data"):
            if group := groups.get((language, part)):
                row = ErrorRow(
                    language=language,
                    part=part,
                    characters=sum(map(len, group)),
                    real={name: list(map(real_counter(name), group)) for name in vocabularies},
                    estimate={name: [count_tokens(text, vocabulary=name) for text in group] for name in RANKS},
                    quarter=sum(-(-len(text) // 4) for text in group),
                    words=sum(map(_by_words, group)),
                )
                rows.append(row)
    return rows


def _by_words(text: str) -> int:
    """Count by a common rule of thumb: a CJK character is 1/1.5 token, a word 4/3."""
    cjk = len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]", text))
    words = len(re.sub(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]", " ", text).split())
    return round(cjk / 1.5 + words * 4 / 3)


def render(rows: Sequence[ErrorRow]) -> str:
    """Return the rows as a Markdown table, with errors in per cent of the real count."""
    head = ["text", "files", "cl100k", "estimate", "error", "single files", "chars/4", "words rule"]
    head += ["o200k", "estimate", "error"]
    body = []
    for row in rows:
        real = sum(row.real["cl100k"])
        cells = [f"{row.language}, {row.part}", len(row.real["cl100k"]), real, sum(row.estimate["cl100k"])]
        cells += [f"**{row.error('cl100k')}**", row.range("cl100k"), _percent(row.quarter, real)]
        cells += [_percent(row.words, real), sum(row.real["o200k"]), sum(row.estimate["o200k"])]
        body.append([*cells, f"**{row.error('o200k')}**"])
    return _table(head, body)


def render_others(rows: Sequence[ErrorRow]) -> str:
    """Return a table of the default estimate's errors against vocabularies that it was not calibrated for."""
    names = [name for name in rows[0].real if name != "cl100k"]
    body = [[f"{row.language}, {row.part}", *(row.error(name, "cl100k") for name in names)] for row in rows]
    return _table(["text", *names], body)


def render_loading() -> str:
    """Return a Markdown table of what it costs to load the estimator and the real vocabularies, each measured now."""
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "sample.txt"
        sample.write_text("".join(text.text for text in _files(SAMPLES, "samples")) * _SAMPLE_REPEATS, "utf-8")
        files = {name: _folder() / file for name, file in RANKS.items()}
        rows = [table_row(loading) for loading in measure_loading(files, sample, Path(folder))]
    return markdown(HEAD, rows, align="lrrrr")


def _table(head: Sequence[str], body: Iterable[Sequence[object]]) -> str:
    rows = [head, ["---", *["--:"] * (len(head) - 1)]]
    rows += [
        [f"{cell:,}".replace(",", " ") if isinstance(cell, int) else str(cell) for cell in cells] for cells in body
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _percent(estimate: int, real: int) -> str:
    return f"{100 * (estimate / real - 1):+.1f} %"


def _write_docs(rows: Sequence[ErrorRow]) -> None:
    """Replace what stands between the markers of ``docs/tokens.md``, and the real counts beside the samples."""
    put(DOCS, {"measured": render(rows), "others": render_others(rows)})
    counts = {
        text.name: {"language": text.language, **{name: real_counter(name)(text.text) for name in RANKS}}
        for text in _files(SAMPLES, "samples")
    }
    (SAMPLES / "counts.json").write_text(json.dumps(counts, indent=1) + "\n", "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the files that the options name. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.tokens", description="Calibrate and measure token counting.")
    parser.add_argument("--data", type=Path, action="append", default=[], help="folder with more text to measure")
    parser.add_argument("--write-weights", action="store_true", help="rebuild agent_home/token_weights.py and stop")
    parser.add_argument("--loading", action="store_true", help="measure loading alone; with --write-docs, its table")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/tokens.md")
    options = parser.parse_args(arguments)
    if options.loading:
        table = render_loading()
        if options.write_docs:
            put(DOCS, {"loading": table})
        print(table)
        return 0
    found = texts(options.data)
    if options.write_weights:
        WEIGHTS.write_text(weights([text for text in found if text.part == "calibration"]), "utf-8")
        return 0
    rows = measure(found, (*RANKS, *OTHERS))
    if options.write_docs:
        _write_docs(rows)
    print(f"{render(rows)}\n\n{render_others(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
