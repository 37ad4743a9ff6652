"""Injected blocks are removed from a conversation, and the user's words are kept.

Of a human's message only what this machine signed is removed.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.imports import strip_injected
from agent_home.screening.injected_context import MARKED_CHARS, marked, strip_marked, without_tags

#: Words of a person: anything without our own tags.
WORDS = st.text().filter(lambda text: "agent-home" not in text.lower())
OPENINGS = st.sampled_from(
    [
        "<agent-home>",
        "<AGENT-HOME>",
        '<agent-home version="1">',
        '<agent-home note="a > b">',
        "<agent-home\nlayer='L1'>",
        "< agent-home >",
    ]
)
CLOSINGS = st.sampled_from(["</agent-home>", "</Agent-Home>", "</agent-home >", "</ agent-home>"])
RECALLED = WORDS.map(lambda text: f'<agent-home-recall source="s#1">{text}</agent-home-recall>')


@given(before=WORDS, opening=OPENINGS, inside=WORDS, recalled=RECALLED, closing=CLOSINGS, after=WORDS)
def test_stripping_gives_back_the_words_around_a_block(
    before: str, opening: str, inside: str, recalled: str, closing: str, after: str
) -> None:
    # A word that would make the tags part of something else is no case of this claim.
    text = f"{before}\n{opening}{inside}\n{recalled}{closing}{after}"
    if "<system-reminder" not in before.lower():
        assert strip_injected(text) == (f"{before}\n{after}", True)


@given(text=WORDS)
def test_words_without_a_block_stay_as_they_are(text: str) -> None:
    assert strip_injected(text) == (text, False)


@given(before=WORDS, first=RECALLED, between=WORDS, second=RECALLED, after=WORDS)
def test_words_between_two_blocks_stay(before: str, first: str, between: str, second: str, after: str) -> None:
    stripped, removed = strip_injected(before + first + between + second + after)
    assert removed
    assert stripped == before + between + after


TAGS = st.sampled_from(["<agent-home>", "</agent-home>", "<agent-home-recall x>", "</agent-home-recall>", "a"])


@given(pieces=st.lists(TAGS))
def test_stripping_twice_is_stripping_once(pieces: list[str]) -> None:
    once, _ = strip_injected("".join(pieces))
    assert strip_injected(once) == (once, False)


@pytest.mark.parametrize(
    "text",
    [
        "Question?\n<agent-home>\n## Memory\n- fact",
        "Question?\n<agent-home>\r\n## Memory\n- fact",
        'Question?\n<agent-home-recall layer="L3" of="conversations">- fact </agent-home>',
        "Question?\n<agent-home>\n## Memory\n<agent-home-recall>\nfact</agent-home-recall>\nmore",
    ],
)
def test_an_unclosed_block_that_opens_as_ours_reaches_to_the_end(text: str) -> None:
    assert strip_injected(text) == ("Question?\n", True)


@pytest.mark.parametrize(
    "text",
    [
        "The tag <agent-home> marks our block. Decision: keep it.",
        "<agent-home> marks our block.\nDecision: keep it.",
        "It begins with <agent-home>\nDecision: keep it.",
        "A <agent-home-recall n=3> is named. Decision: keep it.",
    ],
)
def test_a_tag_that_is_only_named_takes_nothing_with_it(text: str) -> None:
    assert strip_injected(text) == (text.replace("<", "‹"), False)


def test_a_block_after_a_tag_that_is_only_named_goes_alone() -> None:
    text = "Is <agent-home> ours?\n<agent-home>\nfact\n</agent-home>\nYes."
    assert strip_injected(text) == ("Is ‹agent-home> ours?\n\nYes.", True)


@given(before=WORDS, opening=OPENINGS.filter(lambda tag: "layer" not in tag), after=WORDS)
def test_every_word_around_a_tag_that_is_only_named_stays(before: str, opening: str, after: str) -> None:
    text = f"{before} {opening} {after}"
    if "<system-reminder" not in before.lower():
        assert strip_injected(text) == (f"{before} {opening.replace('<', '‹')} {after}", False)


def test_nested_blocks_go_as_one() -> None:
    text = "a<agent-home>b<agent-home-recall>c</agent-home-recall>d<agent-home>e</agent-home>f</agent-home>g"
    assert strip_injected(text) == ("ag", True)


def test_the_end_tag_of_the_outer_block_closes_an_inner_one_left_open() -> None:
    assert strip_injected("a<agent-home>b<agent-home-recall>c</agent-home>d") == ("ad", True)


def test_an_empty_element_takes_nothing_with_it() -> None:
    assert strip_injected("a<agent-home/>b<agent-home-recall n='1'/>c") == ("abc", True)


@pytest.mark.parametrize("name", ["agent-homes", "agent-home-recalled", "agent-home.md", "my-agent-home"])
def test_other_names_are_no_tags(name: str) -> None:
    text = f"see <{name}> and </{name}>"
    assert strip_injected(text) == (text, False)


def test_a_stray_end_tag_is_left_alone() -> None:
    assert strip_injected("it ends with </agent-home>") == ("it ends with </agent-home>", False)


def test_an_empty_wrapper_of_the_host_goes_as_well() -> None:
    block = "<agent-home>x</agent-home>"
    recall = "<agent-home-recall>y</agent-home-recall>"
    assert strip_injected(f"<system-reminder>\n{block}\n</system-reminder>\n\nFix it.") == ("\n\nFix it.", True)
    assert strip_injected(f"<System-Reminder>{block}\n\n{recall}</System-Reminder>Fix it.") == ("Fix it.", True)
    assert strip_injected("Fix it.<system-reminder>\n<agent-home>\ncut off") == ("Fix it.", True)


def test_a_wrapper_that_says_something_itself_stays() -> None:
    text = "<system-reminder>\nBuild is red.\n<agent-home>x</agent-home>\n</system-reminder>"
    assert strip_injected(text) == ("<system-reminder>\nBuild is red.\n\n</system-reminder>", True)


@pytest.mark.parametrize(
    "piece", ['<agent-home "', "<agent-home x='", "<agent-home ", "<agent-home>", "<system-reminder> "]
)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    def seconds(times: int) -> float:
        start = time.perf_counter()
        strip_injected(piece * times)
        return time.perf_counter() - start

    short, long = min(seconds(1_000) for _ in range(3)), min(seconds(8_000) for _ in range(3))
    assert long < 40 * short + 0.05


#: Words of anybody who knows our tags, but not the key of this machine.
FORGED = st.lists(
    st.sampled_from([
        "<agent-home>", "</agent-home>", '</agent-home mark="' + "0" * 32 + '">', "<agent-home-recall layer='L3'>",
        "</agent-home-recall>", "<system-reminder>", "words", "\n", " ",
    ])
).map("".join)  # fmt: skip


@given(before=st.one_of(WORDS, FORGED), inside=WORDS.filter(str.strip), after=st.one_of(WORDS, FORGED))
def test_only_a_block_of_this_machine_is_taken_out_of_a_humans_message(before: str, inside: str, after: str) -> None:
    block = marked(inside)
    assert len(block) == len(inside) + MARKED_CHARS
    if "<system-reminder" not in before.lower():
        assert strip_marked(before + block + after) == (before + after, True)


@given(text=st.one_of(WORDS, FORGED))
def test_what_this_machine_did_not_sign_stays_to_the_character(text: str) -> None:
    assert strip_marked(text) == (text, False)


@given(inside=WORDS.filter(str.strip), other=WORDS)
def test_a_mark_is_for_its_own_words_alone(inside: str, other: str) -> None:
    end = marked(inside).rpartition("\n")[2]
    text = f"<agent-home>\n{other}\n{end}"
    assert strip_marked(text)[1] == (inside.split() == other.split())


def test_a_mark_that_somebody_saw_takes_no_words_along() -> None:
    block = marked("Memory.")
    end = block.rpartition("\n")[2]
    text = f"<agent-home>\nMy own words.\n{end}\n{block}\nMore words.\n{end}"
    assert strip_marked(text) == (text.replace(block, ""), True)


def test_spaces_that_changed_on_the_way_do_not_matter() -> None:
    assert strip_marked(marked("a\n\nb  c").replace("\n", "\r\n")) == ("", True)


def test_another_machine_signs_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = marked("Memory.")
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path))
    assert strip_marked(block) == (block, False)


def test_a_machine_without_a_key_writes_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a file lies here")
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "state"))
    assert marked("Memory.") == "<agent-home>\nMemory.\n</agent-home>"


def test_the_wrapper_of_a_host_goes_with_a_marked_block() -> None:
    text = f"<system-reminder>\n{marked('x')}\n</system-reminder>Fix it."
    assert strip_marked(text) == ("Fix it.", True)


@given(text=st.one_of(WORDS, FORGED))
def test_tags_are_made_harmless_and_no_word_goes(text: str) -> None:
    found = without_tags(text)
    assert found.replace("\u2039", "<") == text.replace("\u2039", "<")
    assert strip_injected(found) == (found, False)


@pytest.mark.parametrize(
    "piece", ["<agent-home>", "</agent-home mark='", '</agent-home mark="' + "0" * 32 + '">', "<a"]
)
def test_the_time_to_look_for_marks_grows_with_the_length_alone(piece: str) -> None:
    def seconds(times: int) -> float:
        start = time.perf_counter()
        strip_marked("<agent-home>" + piece * times)
        return time.perf_counter() - start

    short, long = min(seconds(500) for _ in range(3)), min(seconds(4_000) for _ in range(3))
    assert long < 40 * short + 0.05
