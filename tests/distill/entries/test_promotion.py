"""Promotion of items to entries of ``MEMORY.md``."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from agent_home.documents.document import Document, parse
from agent_home.documents.entry import SECTIONS, new_id
from agent_home.documents.provenance import least_trusted
from agent_home.home import MEMORY
from distill.entries.archived_statements import statement_key
from distill.entries.promotion import Placement, find_candidates, place_candidates
from distill.evidence.status import Evidence
from distill.reading.labels import ItemKind
from distill.summary.extraction import Item

ARCHIVE = "Archive/MEMORY-2026-10.md"
EMPTY = "# Memory\n\n" + "\n".join(f"## {rule.title}\n" for rule in SECTIONS)


def item(
    text: str, kind: ItemKind = "decision", source: str = "s#1", replaces: str = "", *, wrong: bool = False
) -> Item:
    return Item(
        kind=kind,
        text=text,
        sources=(source,),
        role="user",
        ts="2026-11-20T14:00:00",
        replaces=replaces,
        corrected=wrong,
    )


def put(
    items: Sequence[Item],
    memory: str = EMPTY,
    archive: str = "",
    evidence: dict[Item, Evidence] | None = None,
    max_per_section: int = 10_000,
    origin: str = "user",
) -> Placement:
    documents: dict[str, Document] = {MEMORY: parse(memory)}
    if archive:
        documents[ARCHIVE] = parse(archive)
    taken: set[str] = {entry.id for document in documents.values() for entry in document.entries()}

    def fresh(prefix: str, seed: str) -> str:
        found = new_id(prefix, seed, taken)
        taken.add(found)
        return found

    origins = {source: origin for each in items for source in each.sources}
    found = find_candidates(items, evidence or {}, origins, "2026-11-21")
    address = "DailyActivity/2026-11-20.md#s-1"
    return place_candidates(found, documents, new_id=fresh, address=address, max_per_section=max_per_section)


UNRELATED = (
    (
        "Ship the index with its own SQLite",
        "Move Birch to best case",
        "Hire a contractor for the port",
        "Drop the TSV export",
    ),
    ("索引自带 SQLite", "Birch 挪到 best case", "移植外包", "去掉 TSV 导出"),
    ("发布推迟到周一", "预算冻结到下个财年", "合同交给法务", "快照改用 booking BU"),
)


@pytest.mark.parametrize("texts", UNRELATED)
def test_unrelated_items_of_one_batch_are_not_merged(texts: tuple[str, ...]) -> None:
    placed = put([item(text, source=f"s#{n}") for n, text in enumerate(texts)])
    assert len(placed.added) == 4
    assert [entry.title for entry in placed.documents[MEMORY].section_entries("Key Decisions")] == list(reversed(texts))


def test_every_kind_but_facts_has_a_section() -> None:
    kinds: tuple[ItemKind, ...] = (
        "decision", "lesson", "correction", "root_cause", "preference", "open_thread", "next_step", "conclusion",
        "fact",
    )  # fmt: skip
    placed = put([item(f"text {kind}", kind, f"s#{kind}") for kind in kinds])
    assert [(c.item.kind, e.prefix) for c, e in placed.added] == [
        ("decision", "KD"), ("lesson", "LL"), ("correction", "CO"), ("root_cause", "CO"), ("preference", "SP"),
        ("open_thread", "OT"), ("next_step", "OT"), ("conclusion", "RC"),
    ]  # fmt: skip


def test_entry_carries_evidence_sources_origin_and_the_turns_date() -> None:
    shipped = item("Ship it")
    ((_, entry),) = put([shipped], evidence={shipped: Evidence(state="verified", commit="3f9c2e1")}).added
    assert entry.render() == (
        f"- **[{entry.id}]** 2026-11-20 Ship it\n"
        "  Evidence: verified, commit 3f9c2e1; DailyActivity/2026-11-20.md#s-1 · Sources: s#1 · Origin: user\n"
    )


def test_entry_without_a_claim_has_no_evidence_line() -> None:
    ((_, entry),) = put([item("Ship it")]).added
    assert entry.render() == f"- **[{entry.id}]** 2026-11-20 Ship it\n  Sources: s#1 · Origin: user\n"


def test_a_long_sentence_is_one_statement_that_is_not_cut() -> None:
    text = (
        "We decided to move the Birch deal of ¥2.1M from commit to best case because the customer's budget is frozen."
    )
    ((_, entry),) = put([item(text)]).added
    assert entry.title == entry.text == text
    assert entry.render().splitlines()[0] == f"- **[{entry.id}]** 2026-11-20 {text}"


def test_exact_duplicate_adds_its_source_to_the_older_entry() -> None:
    first = put([item("Ship it.", source="a#1")])
    ((_, old),) = first.added
    again = put([item("ship  it", source="b#7")], first.documents[MEMORY].render())
    assert not again.added
    ((_, entry),) = again.merged
    assert (entry.id, entry.title, entry.date) == (old.id, old.title, old.date)
    assert entry.fields == {**old.fields, "Sources": "a#1, b#7"}
    assert len(list(again.documents[MEMORY].entries())) == 1


def test_long_or_corrected_entry_is_recognised_as_a_duplicate_of_itself() -> None:
    texts = [item("很长的决定," * 30), item("MEAGS 是 -12 %", "correction", replaces="MEAGS 是 -8 %")]
    first = put(texts)
    assert not put(texts, first.documents[MEMORY].render()).added


def test_duplicate_of_an_archived_entry_is_merged_in_the_archive() -> None:
    archive = "# Archive\n\n## Key Decisions\n\n- **[KD-7F3A] 2026-10-01 Ship it**\n  Sources: a#1\n"
    placed = put([item("Ship it.", source="b#2")], archive=archive)
    assert not placed.added
    entry = placed.documents[ARCHIVE].entry("KD-7F3A")
    assert entry is not None
    assert entry.fields["Sources"] == "a#1, b#2"
    assert placed.documents[MEMORY].render() == EMPTY


def test_restatement_of_a_superseded_entry_is_a_new_entry() -> None:
    memory = EMPTY.replace(
        "## Key Decisions\n", "## Key Decisions\n\n- **[KD-7F3A] 2026-10-01 Ship it**\n  Superseded-By: KD-0000\n"
    )
    assert len(put([item("Ship it")], memory).added) == 1


def test_same_words_in_another_section_or_with_another_sign_are_not_merged() -> None:
    items = [item("Gap is -12 %", "conclusion"), item("Gap is 12 %", "conclusion"), item("Gap is -12 %", "lesson")]
    assert len(put(items).added) == 3


def test_contradicted_and_corrected_items_earn_no_entry() -> None:
    false, wrong, true = (
        item("Deleted a.py", "deliverable"),
        item("Gap is 8", "conclusion", wrong=True),
        item("Added b.py", "deliverable"),
    )
    evidence = {
        false: Evidence(state="contradicted", detail="a.py is still at HEAD"),
        true: Evidence(state="verified", commit="3f9c2e1"),
    }
    ((_, entry),) = put([false, wrong, true], evidence=evidence).added
    assert entry.title == "Added b.py"
    assert entry.fields["Evidence"] == "verified, commit 3f9c2e1; DailyActivity/2026-11-20.md#s-1"


def test_deliverable_without_a_checkable_claim_stays_in_the_daily_log() -> None:
    assert not put([item("Done with the slides", "deliverable")]).added


def test_confirmed_duplicate_upgrades_the_evidence() -> None:
    said = item("Added b.py", "deliverable")
    first = put([said], evidence={said: Evidence(state="unverified", detail="not committed")})
    again = put([said], first.documents[MEMORY].render(), evidence={said: Evidence(state="verified", commit="3f9c2e1")})
    ((_, entry),) = again.merged
    assert entry.fields["Evidence"].startswith("verified, commit 3f9c2e1")


def test_origin_of_an_entry_is_its_least_trusted_turn() -> None:
    assert least_trusted(["user", "agent"]) == "agent"
    assert least_trusted(["user", "web", "tool"]) == "web"
    assert least_trusted(["user", "who knows"]) == "agent"
    assert least_trusted([]) == "agent"


def test_statement_excludes_provenance() -> None:
    bare, sourced = "- **[KD-7F3A] 2026-11-20 Ship it**\n", "  Evidence: verified, commit 3f9c2e1\n  Sources: a#1\n"
    texts = [next(parse(f"## Key Decisions\n\n{raw}").entries()) for raw in (bare, bare + sourced)]
    assert statement_key(texts[0]) == statement_key(texts[1])


def test_items_beyond_the_section_limit_are_counted() -> None:
    items = [item(f"decision {n}", source=f"s#{n}") for n in range(5)]
    items += [item("always sort", "preference", "s#p"), item("decision 0", source="s#again")]
    placed = put(items, max_per_section=2)
    assert [c.item.text for c, _ in placed.added] == ["decision 0", "decision 1", "always sort"]
    assert placed.left_in_log == 3
    assert placed.added[0][1].fields["Sources"] == "s#0, s#again"
    assert placed.documents[MEMORY].entry(placed.added[0][1].id) is not None


def test_report_equals_the_documents() -> None:
    first = put([item("ship", source="a#1"), item("wait", source="a#2")])
    rows = [
        item("wait", source="b#1"),
        item("new", source="b#2"),
        item("wait", source="b#3"),
        item("new", source="b#4"),
    ]
    second = put(rows, first.documents[MEMORY].render())
    for _, entry in (*second.added, *second.merged):
        found = second.documents[MEMORY].entry(entry.id)
        assert found is not None
        assert found.render() == entry.render()
    assert [e.fields["Sources"] for _, e in second.merged] == ["a#2, b#1, b#3"]
    assert [e.fields["Sources"] for _, e in second.added] == ["b#2, b#4"]


def test_four_times_as_many_items_take_about_four_times_as_long() -> None:
    def seconds(count: int) -> float:
        known = put([item(f"known {n}", source=f"k#{n}") for n in range(count)]).documents[MEMORY].render()
        items = [item(f"new {n}", source=f"s#{n}") for n in range(count)]
        items += [item(f"known {n}", source=f"t#{n}") for n in range(count)]
        taken = []
        for _ in range(3):
            started = time.process_time()
            put(items, known)
            taken.append(time.process_time() - started)
        return min(taken)

    assert seconds(400) < 9 * seconds(100)  # quadratic work would be sixteen times as much


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("user", "web", "web"), ("web", "user", "web"), ("agent", "tool", "tool"), ("tool", "agent", "tool"),
        ("user", "user", "user"),
    ],
)  # fmt: skip
def test_merged_entry_has_the_least_trusted_origin(before: str, after: str, kept: str) -> None:
    first = put([item("ship on Monday", source="a#1")], origin=before)
    second = put([item("ship on Monday", source="b#1")], first.documents[MEMORY].render(), origin=after)
    ((_, entry),) = second.merged
    assert entry.fields["Origin"] == kept
    assert second.documents[MEMORY].entry(entry.id).fields["Origin"] == kept  # type: ignore[union-attr]


@pytest.mark.parametrize(("origin", "kept"), [("user", None), ("web", "web")])
def test_handwritten_entry_is_the_users_until_a_less_trusted_restatement(origin: str, kept: str | None) -> None:
    memory = "# Memory\n\n## Key Decisions\n\n- **[KD-7F3A] 2026-11-01 ship on Monday**\n"
    ((_, entry),) = put([item("ship on Monday", source="b#1")], memory, origin=origin).merged
    assert entry.fields.get("Origin") == kept
