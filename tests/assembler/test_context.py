"""Test how context files share a budget that is too small."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from agent_home.home import Home
from agent_home.tokens import count_tokens
from assembler.context import ContextSection, Group, fit, left_out_notice, load, rests
from assembler.file_screening import FileScreening
from assembler.sources import Sources

COUNT = partial(count_tokens, vocabulary="cl100k")
NAMES = ("SOUL.md", "USER.md", "KNOWLEDGE.md", "MEMORY.md")


def fitted(written: Callable[..., Home], tokens: int, floor: int, paragraphs: int = 40) -> dict[str, ContextSection]:
    """Fit four files of equal text and floor. Their paragraphs have some 12 tokens each."""
    text = "# T\n\n" + "".join(f"Paragraph {n} has nine words and a stop.\n\n" for n in range(paragraphs))
    home = written(dict.fromkeys(NAMES, text))
    found = [s for s in load(home, Sources(home, "owner", FileScreening(home)), COUNT) if s.path in NAMES]
    same = [replace(s, file=replace(s.file, floor=floor)) for s in found]
    return {s.path: s for s in fit(same, tokens, COUNT, memory_first=0.6)}


def test_floors_that_fit_are_kept_in_whole_units(written: Callable[..., Home]) -> None:
    sections = fitted(written, 500, 100)
    assert all(100 <= section.floor <= section.fitted.tokens for section in sections.values())
    assert sum(section.fitted.tokens for section in sections.values()) <= 500


def test_floors_shrink_after_generated_files_are_dropped_and_protected_ones_served(
    written: Callable[..., Home],
) -> None:
    sections = fitted(written, 400, 200)
    assert sections["KNOWLEDGE.md"].fitted.units == ()
    assert sections["KNOWLEDGE.md"].fitted.text == ""
    assert left_out_notice(list(sections.values())) == "[Left out: KNOWLEDGE.md]\n"
    assert sections["SOUL.md"].floor >= 200
    assert all(80 <= sections[name].floor < 110 for name in ("USER.md", "MEMORY.md"))
    assert sum(section.fitted.tokens for section in sections.values()) <= 400


def test_files_without_room_for_their_names_are_counted(written: Callable[..., Home]) -> None:
    assert left_out_notice(list(fitted(written, 12, 200).values())) == "[4 files left out: see agent.toml]\n"
    assert left_out_notice(list(fitted(written, 20, 200).values())) == "[Left out: SOUL.md and 3 more]\n"


def test_tokens_above_the_floors_go_to_protected_files_first_and_generated_ones_last(
    written: Callable[..., Home],
) -> None:
    sections = fitted(written, 1_000, 50)
    assert not sections["SOUL.md"].cut
    assert sections["MEMORY.md"].fitted.tokens > sections["USER.md"].fitted.tokens
    assert sections["KNOWLEDGE.md"].fitted.tokens < 80


def test_a_budget_of_zero_shows_nothing(written: Callable[..., Home]) -> None:
    sections = fitted(written, 10, 50)
    assert all(section.fitted.tokens == 0 and section.fitted.text == "" for section in sections.values())


def test_idle_room_shows_the_rest_of_the_cut_files_of_a_group(written: Callable[..., Home]) -> None:
    sections = list(fitted(written, 400, 50).values())
    groups: tuple[Group, ...] = ("protected", "owned", "generated")
    paths = [[section.path for section, _ in rests(sections, 5_000, COUNT, group)] for group in groups]
    assert paths == [["SOUL.md"], ["USER.md", "MEMORY.md"], ["KNOWLEDGE.md"]]
    found = {section.path: rest for section, rest in rests(sections, 500, COUNT, "protected")}
    (soul,) = (section for section in sections if section.path == "SOUL.md")
    assert soul.cut
    assert not found["SOUL.md"].dropped
    shown = soul.fitted.text + found["SOUL.md"].text
    assert all(f"Paragraph {n} has" in shown for n in range(40))
    assert list(rests(sections, 5, COUNT, "protected")) == []
    assert sum(COUNT(rest.text) for rest in found.values()) <= 500


def test_the_receipt_says_in_words_which_parts_are_cut(written: Callable[..., Home]) -> None:
    sections = fitted(written, 400, 50)
    assert sections["SOUL.md"].file.cut == "never"
    cut = {path: section.line().reason for path, section in sections.items() if section.cut and section.fitted.units}
    assert {"SOUL.md", "USER.md"} <= set(cut)
    assert cut["SOUL.md"].endswith(f"parts over its share of {sections['SOUL.md'].share} tokens")
    assert cut["USER.md"].endswith("tokens, newest parts cut first")
