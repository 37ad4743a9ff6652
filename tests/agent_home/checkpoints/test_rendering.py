"""The block to go on from stays under its tokens, whatever a checkpoint holds, and the report shows everything."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_home.checkpoints.checkpoint import Checkpoint, FolderStatus, OpenThread, OutputReference
from agent_home.checkpoints.rendering import RESUME_TOKENS, report, resume_block
from agent_home.tokens import count_tokens

ID = "ckpt-20261121-090000"
WORDS = st.sampled_from(["schema 14 ", "字", "crane", "9f2c1e5a", "🙂", "/a/", "\\x", "é", "-", "naïve "])
#: Texts of up to some 30 KB.
TEXTS = st.tuples(st.lists(WORDS, max_size=12), st.sampled_from([1, 1, 5, 40, 600])).map(
    lambda drawn: ("".join(drawn[0]) * drawn[1]).strip()
)
#: What the making of a checkpoint cuts already.
SHORT = TEXTS.map(lambda text: text[:160])


def checkpoints() -> st.SearchStrategy[Checkpoint]:
    counts = st.integers(0, 40)

    def listed(items: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
        return st.tuples(items, counts).map(lambda drawn: (drawn[0],) * drawn[1])

    return st.builds(
        Checkpoint, id=st.just(ID), ts=st.just("2026-11-21T09:00:00+00:00"), notes=TEXTS, phase=TEXTS,
        directory=SHORT, branch=SHORT, commit=st.sampled_from(["", "9f2c1e5a13a4"]), session=TEXTS,
        depends=st.lists(TEXTS, max_size=60).map(tuple),
        threads=listed(st.builds(OpenThread, id=st.just("OT-7F3A"), title=SHORT)),
        statuses=listed(
            st.builds(FolderStatus, folder=SHORT, phase=SHORT, state=SHORT, task=SHORT, open_tasks=st.integers(0, 99))
        ),
        references=listed(
            st.builds(
                OutputReference, output=st.just("mem-20261121-090000-1a2b3c4d"), headline=SHORT,
                tokens=st.integers(0, 10**6),
            )
        ),
        outputs=st.integers(0, 10**6), tokens=st.integers(0, 10**9),
    )  # fmt: skip


@settings(max_examples=60)
@given(checkpoints())
def test_no_checkpoint_takes_more_tokens_than_promised(checkpoint: Checkpoint) -> None:
    assert count_tokens(resume_block(checkpoint)) < RESUME_TOKENS
    whole = report(checkpoint)
    assert all(text in whole for text in (checkpoint.notes, checkpoint.phase, checkpoint.session, *checkpoint.depends))


def test_a_cut_says_how_much_there_is_and_where() -> None:
    notes = "the crane of the harbour fell " * 1100
    checkpoint = Checkpoint(id=ID, ts="2026-11-21T09:00:00+00:00", notes=notes, depends=("schema",) * 500, session="s")
    lines = resume_block(checkpoint).splitlines()
    (noted,) = [line for line in lines if line.startswith("Notes: ")]
    shown, _, rest = noted.removeprefix("Notes: ").partition("... (")
    assert notes.startswith(shown)
    assert rest == f"{len(notes) - len(shown)} more characters: checkpoint report)"
    depends = [line for line in lines if line.startswith("Depends on: ")]
    assert depends[-1] == f"Depends on: {500 - len(depends) + 1} more: `checkpoint report`"
    assert lines[-1] == "Session: s. `memory prompt --resume s` goes on with it."


def test_short_texts_are_whole() -> None:
    checkpoint = Checkpoint(id=ID, ts="2026-11-21T09:00:00+00:00", notes="After the run", depends=("schema 14",))
    assert resume_block(checkpoint) == report(checkpoint)
