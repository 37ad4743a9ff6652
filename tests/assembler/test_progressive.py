"""Test layer 2: the index lines, the entries in full, and the reasons."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from agent_home.documents.standing import Standing
from agent_home.tokens import count_tokens
from assembler.progressive import EntryBlock, build_progressive
from assembler.recalled.recall_section import Room
from assembler.receipt import EntryLine
from assembler.section import make_section
from assembler.settings import AssemblerSettings

COUNT = partial(count_tokens, vocabulary="cl100k")
SETTINGS = AssemblerSettings()


@dataclass(frozen=True)
class Parts:
    """Layer 2 as a prompt shows it."""

    stable: str
    selected: str
    lines: tuple[EntryLine, ...]


@dataclass(frozen=True, kw_only=True)
class Found:
    """An entry that recall found."""

    source: str
    score: float
    text: str = ""
    ts: str = ""
    session: str = ""
    name: str = ""
    role: str = ""
    heading: str = ""
    also: tuple[str, ...] = ()
    standing: Standing | None = None


def fitted(text: str, tokens: int, scores: dict[str, float] | None = None, shown: Collection[str] = ()) -> Parts:
    memory = build_progressive(make_section("MEMORY", text, "oldest-first", COUNT), tokens, SETTINGS, COUNT)
    block = EntryBlock(memory=memory, count=COUNT, room=Room(max(0, tokens - memory.tokens)))
    hits = [Found(source=f"MEMORY.md#{name}", score=score) for name, score in (scores or {}).items()]
    block.score(hits)
    for hit in sorted(hits, key=lambda hit: -hit.score):
        block.add(hit, shown)
    block.fill(shown)
    block.release(shown)
    return Parts(memory.stable, block.text, block.lines)


def full(parts: Parts) -> set[str]:
    return set(re.findall(r"^- \*\*\[([A-Z]{2}-\w{4})\]", parts.stable + parts.selected, re.MULTILINE))


def test_preferences_and_threads_are_in_full_for_every_message(memory: Callable[..., str]) -> None:
    for scores in (None, {"KD-0003": 0.9}):
        parts = fitted(memory(40), 1500, scores)
        assert {"SP-0001", "SP-0002", "OT-0001", "OT-0002"} <= full(parts)
        reasons = {line.id: line.reason for line in parts.lines}
        assert reasons["SP-0001"] == "always shown"


def test_every_entry_has_an_index_line_while_they_fit(memory: Callable[..., str]) -> None:
    parts = fitted(memory(20), 1500)
    listed = re.findall(r"^- \[([A-Z]{2}-\w{4})\]", parts.stable, re.MULTILINE)
    assert len(listed) == len(set(listed)) == 24
    assert "- [KD-0020] 2026-01-21 Decision 20\n" in parts.stable


def test_index_lines_that_do_not_fit_are_the_oldest_and_are_counted(memory: Callable[..., str]) -> None:
    parts = fitted(memory(200), 1500)
    missing = re.search(
        r"^\[(\d+) entries without a line here: see `memory search --in memory`\]$", parts.stable, re.MULTILINE
    )
    listed = set(re.findall(r"^- \[([A-Z]{2}-\w{4})\]", parts.stable, re.MULTILINE))
    assert missing is not None
    assert int(missing[1]) + len(listed) == 204
    dropped = {line.id for line in parts.lines if line.action == "dropped"}
    assert dropped == {line.id for line in parts.lines} - listed - full(parts)


def test_entries_that_match_the_message_are_in_full_best_first(memory: Callable[..., str]) -> None:
    parts = fitted(memory(40), 1500, {"KD-0003": 0.9, "KD-0017": 0.5})
    lines = {line.id: line for line in parts.lines}
    assert {"KD-0003", "KD-0017"} <= full(parts)
    assert lines["KD-0003"].reason == "matches the message"
    assert lines["KD-0003"].score == 0.9
    assert "reason3 end3.\n  Evidence: unchecked 3\n" in parts.selected


def test_the_reason_of_a_match_that_does_not_fit_has_its_tokens(memory: Callable[..., str]) -> None:
    parts = fitted(memory(40, words=120), 1500, {f"KD-{n:04}": 1 - n / 100 for n in range(1, 41)})
    missed = [line for line in parts.lines if line.score is not None and line.action == "indexed"]
    assert missed
    assert all(re.fullmatch(r"needs \d+ tokens, \d+ were left of the pool", line.reason) for line in missed)


def test_without_scores_the_newest_entries_are_in_full(memory: Callable[..., str]) -> None:
    parts = fitted(memory(20, words=60), 1500)
    newest = sorted((line.id for line in parts.lines if line.reason == "among the newest"), reverse=True)
    assert newest
    assert newest == [f"KD-{n:04}" for n in range(20, 20 - len(newest), -1)]


def test_the_first_part_does_not_depend_on_the_message(memory: Callable[..., str]) -> None:
    one, two = fitted(memory(40), 1500, {"KD-0003": 0.9}), fitted(memory(40), 1500, {"KD-0030": 0.2})
    assert one.stable == two.stable
    assert one.selected != two.selected


def test_an_entry_whose_turns_are_shown_is_not_repeated() -> None:
    text = "# Memory\n\n## Key Decisions\n\n" + "".join(
        f"- **[KD-000{n}] 2026-01-0{n} Decision {n}** - {'reason ' * 90}\n  Sources: s#{n}\n" for n in range(1, 6)
    )
    parts = fitted(text, 450, {"KD-0001": 0.9, "KD-0002": 0.8}, shown={"s#1"})
    lines = {line.id: line for line in parts.lines}
    assert lines["KD-0001"].reason == "its turns are shown"
    assert lines["KD-0002"].action == "kept"


def test_prose_does_not_crowd_out_the_preferences(memory: Callable[..., str]) -> None:
    prose = "\n\n".join(f"Paragraph {n}. {'word ' * 60}" for n in range(40))
    parts = fitted(memory(20).replace("# Memory\n", f"# Memory\n\n{prose}\n"), 1500)
    assert {"SP-0001", "SP-0002", "OT-0001", "OT-0002"} <= full(parts)


def test_preferences_beyond_their_room_are_cut_from_the_oldest_with_a_notice(memory: Callable[..., str]) -> None:
    many = "".join(f"- **[SP-1{n:03}] 2026-03-{n % 28 + 1:02} Rule {n}** - {'do ' * 30}\n" for n in range(60))
    parts = fitted(memory(10).replace("## Open Threads", f"{many}\n## Open Threads"), 1500)
    assert re.search(r"^\[\d+ parts cut: see `memory search --in memory`\]$", parts.stable, re.MULTILINE)
    assert COUNT(parts.stable) + COUNT(parts.selected) <= 1500


@given(tokens=st.integers(0, 3000), scored=st.sets(st.integers(1, 40)), words=st.integers(0, 90), n=st.integers(1, 40))
def test_the_share_is_kept_and_every_entry_is_named_once(
    memory: Callable[..., str], tokens: int, scored: set[int], words: int, n: int
) -> None:
    parts = fitted(memory(n, words), tokens, {f"KD-{number:04}": number / 50 for number in scored} or None)
    assert COUNT(parts.stable) + COUNT(parts.selected) <= tokens
    assert len({line.id for line in parts.lines}) == len(parts.lines) == n + 4
    assert {line.id for line in parts.lines if line.action == "kept"} == full(parts)
