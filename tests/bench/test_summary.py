"""The measurement of summaries: its baselines are what they say, and it fails where a line is not true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_home.store.transcript import Message
from bench import summary as bench
from distill.summary.extraction import Item, Summary

ROWS = [
    ("user", "Hey there!"),
    ("assistant", "I moved to Lisbon in May with three cats, and the new flat looks over the harbour."),
    ("user", "Wow, how nice!"),
    ("assistant", "We signed the lease on Saturday and my sister paid for the removal van."),
    ("user", "Sounds lovely, take care of yourself!"),
    ("assistant", "The cats sleep on the balcony, and the harbour is loud at night."),
] * 8


def messages() -> list[Message]:
    return [
        Message(session="s", id=f"m{n}", role=role, content=f"{text} ({n})") for n, (role, text) in enumerate(ROWS, 1)
    ]


def test_text_rank_prefers_the_sentence_that_shares_words_with_most_others() -> None:
    scores = bench.text_rank(["the cats sleep here", "the cats and the harbour sleep", "a harbour view", "bananas"])
    assert max(scores) == scores[1]
    assert min(scores) == scores[3]
    assert bench.text_rank([]) == []


def test_every_method_has_the_same_room_and_what_it_tells_is_counted_by_turn() -> None:
    gold = {"s#m2": [{"moved", "lisbo"}], "s#m4": [{"lease"}, {"van", "remov"}]}
    counts = bench.shares({"s": messages()}, gold, None)
    assert counts.turns == 2
    assert counts.observations == 3
    assert counts.tokens <= bench.SHARE * counts.said
    assert all(0 <= counts.share(name) <= 1 and 0 <= counts.words(name) <= 1 for name in counts.cited)
    assert counts.share("first turns, no citation") > 0


def test_a_floor_is_missed_by_whoever_cites_no_more_than_chance() -> None:
    counts = bench.shares({"s": messages()}, {"s#m2": [set()]}, None)
    counts.cited = dict.fromkeys(counts.cited, 0.5)
    assert not bench.holds(counts)
    counts.cited["daily log"] = 0.7
    assert not bench.holds(counts)
    counts.told = dict.fromkeys(counts.told, 0.1)
    counts.told["daily log"] = 0.2
    assert bench.holds(counts)
    counts.tokens = counts.said
    assert not bench.holds(counts)


@pytest.mark.parametrize(
    ("text", "source", "wrong"),
    [
        ("I moved to Lisbon in May with three cats", "s#m2", ""),
        ("I moved to Porto in May", "s#m2", "word 'Porto' not in s#m2"),
        ("I moved with four cats", "s#m2", "value 'four' not in s#m2"),
        ("I moved to Lisbon", "s#m99", "cites s#m99, which does not exist"),
        ("I moved to Lisbon", "s#m4", "word 'moved', word 'Lisbon' not in s#m4"),
    ],
)
def test_a_line_is_held_against_the_turn_that_it_cites(text: str, source: str, wrong: str) -> None:
    item = Item(kind="fact", text=text, sources=(source,), role="assistant")
    (found,) = bench.faults(messages(), Summary(title="T", items=(item,)))
    assert found.startswith(wrong)
    assert bool(found) == bool(wrong)


def test_the_run_fails_when_a_log_says_what_nobody_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "locomo"
    folder.mkdir()
    rows = [
        {"session": "s", "id": f"m{n}", "ts": "", "role": role, "name": "R", "content": text}
        for n, (role, text) in enumerate(ROWS, 1)
    ]
    (folder / "conv-26.transcript.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    gold = [
        {"session": "s", "source": f"s#m{n}", "speaker": "R", "text": text}
        for n, (_, text) in enumerate(ROWS, 1)
        if n in {2, 4, 6}
    ]
    (folder / "conv-26.observations.jsonl").write_text("\n".join(map(json.dumps, gold)), "utf-8")
    forged = Summary(title="T", items=(Item(kind="fact", text="I live in Porto.", sources=("s#m2",), role="user"),))
    monkeypatch.setattr(bench, "add_facts", lambda *_, **__: forged)
    assert bench.main(["--data", str(tmp_path)]) == 1
    assert "'Porto' not in s#m2" in capsys.readouterr().err


def test_absent_data_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--data", str(tmp_path)]) == 2
    assert "--data" in capsys.readouterr().err
