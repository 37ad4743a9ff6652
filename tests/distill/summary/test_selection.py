"""Selection of facts for the daily log of an ordinary chat."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home import storage
from agent_home.documents import check, daily_log
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from distill.close import close
from distill.grounding.extract import unsaid
from distill.grounding.said_turn import SaidTurn
from distill.settings import DistillSettings
from distill.statements.sentences import shorten
from distill.summary.composition import Models
from distill.summary.daily_section import render_body
from distill.summary.extraction import Summary, summarise
from distill.summary.selection import add_facts
from recall.embedding.embedder import Embedder, Vector
from recall.errors import ModelError
from tests.growth import is_linear

if TYPE_CHECKING:
    from ..conftest import Talk

CHAT = (
    ("user", "Hey! How was your weekend?"),
    ("assistant", "Lovely, thanks! We drove to the lake on Saturday and my sister taught me to sail."),
    ("user", "Oh nice!"),
    ("assistant", "What about you?"),
    ("user", "I signed the lease for a bakery on Harbour Street yesterday. We open in March with two ovens."),
    ("assistant", "Wow, that is great! So cool."),
    ("user", "Thanks! It means a lot."),
    ("assistant", "Take care, talk soon!"),
    ("user", "See you, bye!"),
)
ZH = (
    ("user", "早上好!周末过得怎么样?"),
    ("assistant", "挺好的,谢谢!"),
    ("user", "我昨天在杭州签了面包店的租约,三月开业,先装两台烤箱。"),
    ("assistant", "哇,太棒了!恭喜恭喜!"),
    ("user", "哈哈,谢谢你!"),
    ("assistant", "保重,回头再聊!"),
)


class Bags:
    """An embedder of words: texts with the same words have the same vector. *embedded* lists the texts."""

    name = fingerprint = "bags"
    dimension = 64

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vector:
        self.embedded += texts
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.casefold().split():
                row[sum(map(ord, word)) % self.dimension] += 1
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
        return rows

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed([text])[0]
        return vector


class Broken(Bags):
    """An embedder whose runtime fails."""

    def embed(self, texts: Sequence[str]) -> Vector:
        raise ModelError("no memory for this test")


def summarise_with_facts(
    messages: Sequence[Message], *, share: float = 0.5, max_items: int = 36, embedder: Embedder | None = None
) -> Summary:
    return add_facts(summarise(messages), messages, share=share, max_items=max_items, embedder=embedder)


def facts(summary: Summary) -> list[str]:
    return [item.text for item in summary.items if item.kind == "fact"]


@pytest.mark.parametrize("embedder", [None, Bags()])
def test_chat_log_holds_facts_and_no_pleasantries(talk: Talk, embedder: Embedder | None) -> None:
    summary = summarise_with_facts(talk(*CHAT), share=0.25, embedder=embedder)
    found = facts(summary)
    assert {item.sources for item in summary.items} == {("fc-1#m2",), ("fc-1#m5",)}
    assert "Lovely, thanks!" not in found
    assert not any("Take care" in text or "See you" in text or "How was" in text for text in found)


def test_chinese_chat_log_holds_facts(talk: Talk, wide: object) -> None:
    assert facts(summarise_with_facts(talk(*ZH), share=0.6))[:1] == [
        "我昨天在杭州签了面包店的租约,三月开业,先装两台烤箱。"
    ]


def test_facts_follow_the_conversation_and_cite_their_turns(talk: Talk) -> None:
    messages = talk(*CHAT)
    summary = summarise_with_facts(messages, share=1.0)
    contents = {message.source: message.content for message in messages}
    assert len(summary.items) > 2
    assert [item.sources for item in summary.items] == sorted(item.sources for item in summary.items)
    for item in summary.items:
        assert item.text in contents[item.sources[0]]


def test_items_with_a_cue_stay_whatever_the_share_and_are_not_repeated(
    talk: Talk, review: tuple[tuple[str, str], ...]
) -> None:
    messages = talk(*review)
    marked = summarise(messages)
    assert summarise_with_facts(messages, share=0.0) == marked
    full = summarise_with_facts(messages, share=1.0)
    assert [item for item in full.items if item in marked.items] == list(marked.items)
    texts = [text for item in full.items for text in (item.text, item.replaces) if text]
    assert len(texts) == len(set(texts))


def test_labelled_item_is_not_selected_again_with_its_label(talk: Talk) -> None:
    rows = (
        ("assistant", "Noted, the parser returns a float now. Next step: write the retry logic for the importer."),
        ("assistant", "明白了,解析器现在返回浮点数。待办:确认报警的负责人。"),
        ("user", "Correction: the provider limit is 500 calls a day, not 250."),
    )
    summary = summarise_with_facts(talk(*rows), share=1.0)
    assert {"next_step", "open_thread", "correction"} <= {item.kind for item in summary.items}
    assert not [text for text in facts(summary) if "Next step" in text or "待办" in text or "Correction" in text]


def test_repeated_sentence_is_selected_once(talk: Talk) -> None:
    sentence = "I moved to the harbour office in March with two ovens."
    assert facts(summarise_with_facts(talk(*[("user", sentence)] * 6), share=1.0)) == [sentence]


def test_failing_model_falls_back_to_words(talk: Talk) -> None:
    messages = talk(*CHAT)
    assert summarise_with_facts(messages, embedder=Broken()) == summarise_with_facts(messages)


def test_long_session_embeds_only_a_shortlist(talk: Talk) -> None:
    bags = Bags()
    rows = [("user", " ".join(f"I bought lamp {n}{k} at market {k}." for k in range(20))) for n in range(40)]
    summary = summarise_with_facts(talk(*rows), embedder=bags)
    assert len(facts(summary)) == 36
    assert len(bags.embedded) <= 240


def test_tool_and_quarantined_messages_are_never_selected(talk: Talk) -> None:
    quarantined = "[quarantined q-0a1b: injection, 40 characters]"
    messages = talk(("tool", "I bought a lamp at the market in March."), ("user", quarantined), ("user", "ok"))
    assert facts(summarise_with_facts(messages, share=1.0)) == []


WORDS = st.sampled_from(
    [
        "I moved to Lisbon in May with 3 cats.", "We signed at ¥2.1M, −12 % under plan.", "Wow!", "What now?",
        "我昨天去了上海,见了两个客户。", "Decision: ship it.", "`src/a.py` has 1,200 lines.", "The gap is -8 %.",
        "Sorry, the gap is -12 %, not -8 %.", "**Maya** called it “fine”.", "- bought a lamp\n- sold a chair",
    ]
) | st.text(max_size=60)  # fmt: skip


@given(st.lists(WORDS, max_size=12), st.floats(0, 1), st.integers(3, 40))
def test_any_log_fits_its_share_and_is_grounded_in_its_turns(texts: list[str], share: float, max_items: int) -> None:
    rows = [Message(session="s", id=f"m{n}", role=("user", "assistant")[n % 2], content=t) for n, t in enumerate(texts)]
    contents = {row.source: row.content for row in rows}
    marked = summarise(rows)
    summary = add_facts(marked, rows, share=share, max_items=max_items)
    for item in summary.items:
        assert item.sources
        turns = [SaidTurn(role="user", content=contents[source]) for source in item.sources]
        assert unsaid(f"{item.text} {item.replaces}", turns) == ()
    body = render_body(summary, {}, max_items)
    tokens = sum(count_tokens(row.content) for row in rows)
    floor = count_tokens(render_body(marked, {}, max_items)) + min(64, tokens // 2 + 4)
    assert count_tokens(body) <= max(share * tokens, floor)
    assert add_facts(marked, rows, share=share, max_items=max_items) == summary


def test_amounts_are_never_cut() -> None:
    text = "x" * 30 + " worth 1,200,300 euros"
    assert [shorten(text, limit)[31:] for limit in (38, 40, 42)] == ["worth…"] * 3


def test_a_caption_stays_with_the_sentence_that_shows_the_picture(talk: Talk) -> None:
    said = "We love painting. Here is our latest picture of the garden. [image: a sunset with a palm tree]"
    messages = talk(("user", said), ("assistant", "Wow!"))
    found = add_facts(Summary(title="T"), messages, share=5.0, max_items=9)
    assert "Here is our latest picture of the garden. [image: a sunset with a palm tree]" in [
        item.text for item in found.items
    ]


def test_closing_writes_facts_to_the_daily_log_and_those_of_the_user_to_memory(
    home: Home, talk: Talk, now: datetime
) -> None:
    transcript.append(home, "fc-1", talk(*CHAT), actor="test", now=now)
    settings = DistillSettings(log_share=0.5)
    bags = Bags()
    closed = close(home, "fc-1", now=now, settings=settings, models=Models(embedder=lambda: bags))
    log = storage.read_text(home.root / daily_log.daily_path("2026-11-20"))
    assert "### Facts" in log
    assert "We open in March with two ovens. (fc-1#m5)" in log
    assert bags.embedded
    assert "(fc-1#m2)" in log
    assert {entry.sources for entry in closed.entries} == {("fc-1#m5",)}
    assert check.problems(home) == []


def test_log_share_must_be_between_0_and_1() -> None:
    with pytest.raises(ValueError, match="log-share"):
        DistillSettings(log_share=1.5)


@pytest.mark.parametrize(
    "unit", ["Remember that I like tea. ", "Dear Sam,\n\nBest,\nBob\n", "I like tea. We own 5 cups.\n"]
)
def test_time_to_select_grows_with_the_length(talk: Talk, unit: str) -> None:
    def select(text: str) -> None:
        messages = talk(("user", text))
        add_facts(Summary(title="", items=()), messages, share=0.5, max_items=20)

    assert is_linear(select, unit, 20_000)
