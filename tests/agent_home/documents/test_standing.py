"""The standing of an entry names what ended it and when, whichever entry of a pair names the other."""

from __future__ import annotations

import pytest

from agent_home.documents.entry import Entry
from agent_home.documents.standing import standings


def entry(entry_id: str, date: str = "", **fields: str) -> Entry:
    return Entry(id=entry_id, date=date, title="Told", fields={k.replace("_", "-"): v for k, v in fields.items()})


@pytest.mark.parametrize(("older", "newer"), [({"Superseded_By": "KD-0002"}, {}), ({}, {"Supersedes": "KD-0001"})])
def test_either_entry_of_a_pair_may_name_the_other(older: dict[str, str], newer: dict[str, str]) -> None:
    pair = [entry("KD-0001", "2026-01-01", **older), entry("KD-0002", "2026-02-02", **newer)]
    assert standings(pair)["KD-0001"].words == "superseded by KD-0002 (2026-02-02)"
    assert standings(pair[1:], pair[:1])["KD-0001"].words == "superseded by KD-0002 (2026-02-02), archived"
    assert standings(pair)["KD-0002"].state == "live"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("resolved 2026-03-03, s#m2: sent", "resolved (2026-03-03)"),
        ("done", "resolved"),
        ("\u5df2\u64a4\u56de 2026-03-03", "retracted (2026-03-03)"),
        ("retracted, s#m2: it was 2020", "retracted"),
        ("waiting since 2026-03-03", "live"),
    ],
)
def test_a_state_gives_the_word_and_the_date(state: str, words: str) -> None:
    assert standings([entry("OT-0001", State=state)])["OT-0001"].words == words


def test_a_retracted_claim_stays_retracted_after_it_was_superseded() -> None:
    found = standings([entry("KD-0001", State="retracted 2026-03-03", Superseded_By="KD-0002")])
    assert found["KD-0001"].state == "retracted"


def test_the_standings_around_an_entry_are_those_of_it_and_of_what_it_supersedes() -> None:
    live = [
        entry("KD-0003", "2026-11-22", Supersedes="KD-0001, KD-0002"),
        entry("KD-0002", "2026-11-21", State="retracted 2026-11-22"),
        entry("KD-0004"),
    ]
    old = [entry("KD-0001", "2026-11-20"), entry("KD-0005", "2026-11-20", **{"Superseded-By": "KD-0004"})]
    every = standings(live, old)
    assert standings(live, old, around="KD-0003") == {
        name: every[name] for name in ("KD-0001", "KD-0002", "KD-0003")
    }  # fmt: skip
    assert standings(live, old, around="KD-0001") == {"KD-0001": every["KD-0001"]}
