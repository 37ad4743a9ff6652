"""An entry renders as it was written, and only well-formed list items are entries."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.documents.entry import (
    ALPHABET,
    ENTRY_ID,
    FIELDS,
    SECTIONS,
    Entry,
    new_id,
    normalise_id,
    parse_entry,
    section_of,
    superseded_by,
)
from tests.strategies import entries, lines, wild_texts


def _statement(entry: Entry) -> str:
    return entry.changed(detail="").text


def _bold_title(text: str) -> str:
    """Return a title in the form that bold type allows."""
    return re.sub(r"\*{2,}", "*", " ".join(text.split()))


@given(entries())
def test_a_rendered_entry_parses_to_the_same_entry(entry: Entry) -> None:
    raw = entry.render()
    again = parse_entry(raw)
    assert again is not None
    assert again.id == entry.id
    if entry.date or not re.match(r"\d{4}-\d{2}-\d{2}( |$)", entry.title or entry.body):
        assert again.date == entry.date
        assert re.sub(r"\s|\*", "", _statement(again)) == re.sub(r"\s|\*", "", _statement(entry))
    named = tuple(f"{name}:" for name in FIELDS)
    assert again.detail.splitlines() == [x for x in entry.detail.splitlines() if not x.startswith(named)]
    for name, value in entry.fields.items():
        assert again.fields[name] == value
    assert again.render() == raw


@given(entries())
def test_rendering_a_parsed_entry_without_raw_is_stable(entry: Entry) -> None:
    first = parse_entry(entry.render())
    assert first is not None
    second = parse_entry(first.changed().render())
    assert second is not None
    kept = {name: value for name, value in first.fields.items() if value}  # a field without a value is not rendered
    assert second.changed() == first.changed(fields=kept)


@given(wild_texts(), wild_texts(), wild_texts())
def test_any_text_inside_an_entry_keeps_it_one_entry(title: str, body: str, detail: str) -> None:
    entry = Entry(id="KD-7F3A", date="2026-11-20", title=title, body=body, detail=detail)
    again = parse_entry(entry.render())
    assert again is not None
    assert (again.id, again.date) == ("KD-7F3A", "2026-11-20")
    assert re.sub(r"\s|\*", "", _statement(again)) == re.sub(r"\s|\*", "", _statement(entry))


@given(wild_texts())
def test_an_unchanged_entry_renders_to_its_source_byte_for_byte(rest: str) -> None:
    raw = f"- **[KD-7F3A] 2026-11-20 Title** - {rest}"
    entry = parse_entry(raw)
    assert entry is not None
    assert entry.render() == raw


@pytest.mark.parametrize(
    ("raw", "title", "body"),
    [
        ("- **[KD-7F3A] 2026-11-20 T** - body\n", "T", "body"),
        ("* **[KD-7F3A] 2026-11-20 T** — 正文\n", "T", "正文"),
        ("+ **[KD-7F3A] 2026-11-20 T** – body\n", "T", "body"),
        ("-   **[KD-7F3A]  2026-11-20  T**\n", "T", ""),
        ("- **[KD-7F3A]** - body\n", "body", ""),
        ("- **[KD-7F3A]** 2026-11-20 A whole sentence, with a clause.\n", "A whole sentence, with a clause.", ""),
        ("- **[KD-7F3A] 2026-11-20 三个 deal 滑单，** - 原因是预算冻结\n", "三个 deal 滑单，原因是预算冻结", ""),
        ("- **[KD-7F3A] 2026-11-20 One is large,** - two are small\n", "One is large, two are small", ""),
        ("- **[KD-7F3A] 2026-11-20 abcdefghij…** - abcdefghijklm\n", "abcdefghijklm", ""),
        ("- **[KD-7F3A] T** body without dash\n", "T", "body without dash"),
        ("- **[KD-7F3A] a*b** - **bold** - x\r\n", "a*b", "**bold** - x"),
    ],
)
def test_handwritten_forms_of_an_entry_are_parsed(raw: str, title: str, body: str) -> None:
    entry = parse_entry(raw)
    assert entry is not None
    assert (entry.title, entry.body) == (title, body)


@pytest.mark.parametrize(
    "raw",
    [
        "- [KD-7F3A] no bold\n",
        "- **[kd-7F3A] lower case**\n",
        "- **[KD-7F3I] a letter outside the alphabet**\n",
        "- **[KD-7F3] too short**\n",
        "- **[KD-7F3A] never closed\n",
        " - **[KD-7F3A] indented**\n",
        "1. **[KD-7F3A] numbered**\n",
        "",
        "\n- **[KD-7F3A] second line**\n",
    ],
)
def test_text_that_only_looks_like_an_entry_is_rejected(raw: str) -> None:
    assert parse_entry(raw) is None


@pytest.mark.parametrize("title", ["ends with a star*", "**", "***", "a****b", "** - x", "*"])
def test_stars_in_a_title_do_not_end_the_bold_text(title: str) -> None:
    entry = parse_entry(Entry(id="KD-7F3A", title=title, body="the body").render())
    assert entry is not None
    assert entry.body == "the body"
    assert entry.title == _bold_title(title)


def test_fields_keep_their_order_and_empty_ones_are_left_out() -> None:
    entry = Entry(id="KD-7F3A", title="T", fields={"Supersedes": "KD-2M0Q", "Evidence": "", "Origin": "user"})
    assert entry.render() == "- **[KD-7F3A]** T\n  Supersedes: KD-2M0Q · Origin: user\n"


@pytest.mark.parametrize(
    "raw",
    [
        "- **[KD-7F3A]** 2026-11-20 A whole sentence, never cut - at 12,500.5 or **bold**.\n",
        "- **[KD-7F3A]** 2026-11-20 完整的一句话，不截断。\n  Evidence: verified, commit 3f9c2e1 · Sources: a#1, b#2\n",
        "- **[KD-7F3A]** Without a date\n",
        "- **[KD-7F3A]** 2026-11-20\n",
        "- **[KD-7F3A]** 2026-11-20 T\n  More text\n  State: resolved; sent · Protected: the board\n",
    ],
)
def test_the_form_of_new_entries_is_rendered_again_byte_for_byte(raw: str) -> None:
    entry = parse_entry(raw)
    assert entry is not None
    assert entry.changed().render() == raw


def test_an_entry_of_an_earlier_version_gets_the_new_form_when_it_changes() -> None:
    raw = (
        "- **[KD-7F3A] 2026-11-20 Ship the index with its own SQLite,** - because stock builds cannot load any.\n"
        "  Instead of: the system SQLite\n  Evidence: verified\n  Sources: a#1, a#2\n  Origin: user\n"
    )
    entry = parse_entry(raw)
    assert entry is not None
    assert entry.render() == raw
    assert entry.changed(fields={**entry.fields, "State": "resolved"}).render() == (
        "- **[KD-7F3A]** 2026-11-20 Ship the index with its own SQLite, because stock builds cannot load any.\n"
        "  Instead of: the system SQLite\n"
        "  Evidence: verified · Sources: a#1, a#2 · Origin: user · State: resolved\n"
    )


@given(lines(), st.sampled_from(FIELDS), st.sampled_from(["", " ", "  "]))
def test_a_value_cannot_forge_another_field(value: str, name: str, space: str) -> None:
    fields = {"Sources": f"{value}{space}·{space}{name}: forged", "Origin": "web"}
    entry = parse_entry(Entry(id="KD-7F3A", title="T", fields=fields).render())
    assert entry is not None
    assert list(entry.fields) == ["Sources", "Origin"]
    assert entry.fields["Origin"] == "web"


def test_the_text_of_an_entry_has_no_id_date_or_fields() -> None:
    entry = parse_entry("- **[KD-7F3A] 2026-11-20 T** - b\n  more\n  Evidence: verified\n")
    assert entry is not None
    assert entry.text == "T b more"
    assert entry.index_line == "- [KD-7F3A] 2026-11-20 T"


@given(st.sampled_from([rule.prefix for rule in SECTIONS]), st.text(), st.integers(1, 40))
def test_new_ids_are_valid_unique_and_the_same_for_the_same_seed(prefix: str, seed: str, count: int) -> None:
    taken: set[str] = set()
    for _ in range(count):
        found = new_id(prefix, seed, taken)
        assert ENTRY_ID.fullmatch(found)
        assert found not in taken
        assert found == new_id(prefix, seed, taken)
        taken.add(found)


def test_the_id_alphabet_has_no_ambiguous_letters() -> None:
    assert len(set(ALPHABET)) == 32
    assert not set("ILOU") & set(ALPHABET)


def test_every_prefix_has_one_section() -> None:
    assert len({rule.prefix for rule in SECTIONS}) == len(SECTIONS)
    for rule in SECTIONS:
        assert section_of(rule.prefix) is rule
    assert section_of("ZZ") is None


@given(lines())
def test_changing_an_entry_leaves_the_other_fields_alone(title: str) -> None:
    entry = parse_entry("- **[KD-7F3A] 2026-11-20 T** - b\n  detail\n  Evidence: verified\n")
    assert entry is not None
    changed = entry.changed(title=title)
    assert (changed.id, changed.date, changed.body, changed.detail, changed.fields) == (
        entry.id, entry.date, entry.body, entry.detail, entry.fields,
    )  # fmt: skip
    assert changed.raw == ""


@pytest.mark.parametrize("spelled", ["KD-7F0A", "[kd-7foa]", " kd-7F0a ", "**[KD-7FOA]**"])
def test_a_typed_id_is_normalised(spelled: str) -> None:
    assert normalise_id(spelled) == "KD-7F0A"


def test_state_and_protected_are_read_from_fields() -> None:
    def states(*lines: str) -> list[tuple[bool, bool]]:
        entries = [parse_entry(f"- **[OT-7F3A] T**\n  {line}\n") for line in lines]
        return [(entry.resolved, entry.protected) for entry in entries if entry]

    assert states("State: Resolved 2026-11-01", "State: 已解决", "State: waits") == [
        (True, False), (True, False), (False, False),
    ]  # fmt: skip
    assert states("Protected: the board", "Protected: No", "Protected:") == [
        (False, True),
        (False, False),
        (False, False),
    ]


def test_either_entry_can_declare_a_supersession() -> None:
    entries = [
        Entry(id="KD-0004", title="d", fields={"Supersedes": "KD-0002, KD-0003"}),
        Entry(id="KD-0002", title="b", fields={"Superseded-By": "KD-0003"}),
        Entry(id="KD-0003", title="c"),
    ]
    assert superseded_by(entries) == {"KD-0002": "KD-0003", "KD-0003": "KD-0004"}


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_circle_of_entries_supersedes_nothing(length: int) -> None:
    circle = [
        Entry(id=f"KD-000{n}", title="x", fields={"Supersedes": f"KD-000{(n + 1) % length}"}) for n in range(length)
    ]
    outside = Entry(id="KD-0009", title="x", fields={"Superseded-By": "KD-0000"})
    assert superseded_by([*circle, outside]) == {"KD-0009": "KD-0000"}
