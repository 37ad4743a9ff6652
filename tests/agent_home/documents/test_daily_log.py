"""Daily sections record exactly the messages they cover, and their text cannot forge another record."""

from __future__ import annotations

from datetime import datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_home.documents.daily_log import (
    NOTHING_KEPT,
    Closing,
    anchor_of,
    closings,
    daily_path,
    parse_closings,
    render_closing,
    watermark,
    without_empty_closings,
)
from agent_home.documents.document import parse
from agent_home.home import Home
from agent_home.store.closings import closed_parts
from agent_home.store.gateway import transaction
from guard import screen
from tests.strategies import lines, markdown_texts, session_ids

COUNTS = st.integers(0, 10**10)


@st.composite
def closings_drawn(draw: st.DrawFn, sessions: st.SearchStrategy[str] = session_ids()) -> Closing:  # noqa: B008
    numbers = sorted(draw(st.lists(COUNTS, min_size=4, max_size=4)))
    return Closing(
        session=draw(sessions), date="2026-11-20", time=draw(st.times()).strftime("%H:%M"),
        title=draw(lines() | st.sampled_from(["a (b) c", "`code` (s-1a2b)", "x (s-1a2b) (y)", "#", "##", "a #", ""])),
        first=numbers[0], last=numbers[1], start=numbers[2], end=numbers[3],
    )  # fmt: skip


def facts(closing: Closing) -> tuple[str, str, str, int, int, int, int]:
    return (closing.session, closing.date, closing.time, closing.first, closing.last, closing.start, closing.end)


@given(closings_drawn(), markdown_texts())
def test_a_rendered_closing_parses_to_one_equal_closing(closing: Closing, body: str) -> None:
    text = f"# 2026-11-20\n\n{render_closing(closing, body)}"
    (found,) = parse_closings(text, "2026-11-20")
    assert facts(found) == facts(closing)
    assert found.title == (" ".join(closing.title.split()) or "Session")
    assert (found.line, found.anchor, found.address) == (
        3,
        closing.anchor,
        f"DailyActivity/2026-11-20.md#{closing.anchor}",
    )


@given(st.lists(st.tuples(closings_drawn(), lines()), max_size=5))
def test_closings_are_parsed_in_file_order(rows: list[tuple[Closing, str]]) -> None:
    text = "# 2026-11-20\n" + "".join("\n" + render_closing(closing, f"- {body}") for closing, body in rows)
    assert [facts(found) for found in parse_closings(text, "2026-11-20")] == [facts(closing) for closing, _ in rows]


@given(closings_drawn(), closings_drawn())
def test_a_body_cannot_forge_a_closing_of_another_session(closing: Closing, forged: Closing) -> None:
    body = f"text\n\n{render_closing(forged, 'x')}\n---\n\n# H1\n\nSession: `victim` messages 0-9, bytes 0-99\n"
    for disguise in (body, f"---\nx: y\n{body}\n---\n", body.replace("## ", "x\n---\n")):
        (found,) = parse_closings(render_closing(closing, disguise), "2026-11-20")
        assert facts(found) == facts(closing)


SAFE_NAMES = st.uuids().map(str) | st.from_regex(r"[a-z]{1,8}-[0-9]{1,14}", fullmatch=True)


@given(closings_drawn(sessions=SAFE_NAMES))
def test_the_guard_does_not_change_the_watermark_line(closing: Closing) -> None:
    covers = render_closing(closing, "x").split("\n\n")[1]
    assert screen(covers, "agent", "daily").text == covers
    assert screen(covers, "agent", "daily").action == "allow"


@given(session_ids(), session_ids())
def test_different_sessions_have_different_lines(one: str, other: str) -> None:
    def line(session: str) -> str:
        closing = Closing(session=session, date="d", time="00:00", title="t", first=1, last=2, start=0, end=9)
        return render_closing(closing, "x").split("\n\n")[1]

    assert (line(one) == line(other)) == (one == other)
    assert len(line(one).splitlines()) == 1


def _closed(home: Home, now: datetime, *found: Closing) -> None:
    with transaction(home, actor="close", message="Close", now=now) as edits:
        for closing in found:
            path = daily_path(closing.date)
            edits.write(path, edits.read(path).with_text_at_end(render_closing(closing, "- done")))


def _closing(session: str, date: str, start: int, end: int) -> Closing:
    return Closing(session=session, date=date, time="10:00", title="T", first=1, last=2, start=start, end=end)


def test_the_watermark_is_the_closing_with_the_highest_end_of_any_day(home: Home, now: datetime) -> None:
    _closed(
        home, now, _closing("a", "2026-11-20", 0, 100), _closing("b", "2026-11-20", 0, 900),
        _closing("a", "2026-11-19", 100, 250), _closing("a", "2026-11-21", 250, 200),
    )  # fmt: skip
    furthest = watermark(home, "a")
    assert furthest is not None
    assert (furthest.end, furthest.date, furthest.line) == (250, "2026-11-19", 1)
    assert watermark(home, "c") is None
    assert watermark(home, "a", since="2026-11-22") is None
    assert [closing.date for closing in closings(home, since="2026-11-20")] == [
        "2026-11-20",
        "2026-11-20",
        "2026-11-21",
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(name=st.sampled_from(["a`b", "a'b", "a\rb", "a\r\r## x", "a%60b", "会议", "a\u2028b", "../.."]))
def test_the_watermark_of_any_session_id_survives_the_gateway(home: Home, now: datetime, name: str) -> None:
    _closed(home, now, _closing(name, "2026-11-20", 0, 100))
    assert watermark(home, name) is not None
    names = {closing.session for closing in closings(home)}
    assert "victim" not in names
    assert name in names


def test_files_without_a_date_name_have_no_closings(home: Home) -> None:
    for name in ("notes.md", "2026-11-20-copy.md"):
        (home.daily / name).write_text(render_closing(_closing("a", "2026-11-20", 0, 1), "x"))
    assert closings(home) == []


def test_an_anchor_depends_only_on_session_and_start() -> None:
    assert anchor_of("a", 0) == anchor_of("a", 0)
    assert len({anchor_of("a", 0), anchor_of("a", 1), anchor_of("b", 0)}) == 3


def test_headings_of_a_body_become_level_three_and_the_rest_stays() -> None:
    text = render_closing(_closing("a", "2026-11-20", 0, 1), "# One\n\ntext\n\n#### Four\n\n```\n# code\n```\n")
    assert [(b.level, b.title) for b in parse(text).blocks if b.kind == "heading"][1:] == [(3, "One"), (4, "Four")]
    assert "```\n# code\n```\n" in text


def test_a_session_with_a_redacted_name_keeps_its_watermark(home: Home) -> None:
    session = "138" + "0013" + "8000"
    closing = Closing(
        session=session, date="2026-11-20", time="10:00", title="t", first=1, last=2, start=0, end=90
    )  # fmt: skip
    with transaction(home, actor="t", message="m") as edits:
        edits.write(closing.path, "# 2026-11-20\n\n" + render_closing(closing, "- said"))
    text = (home.root / closing.path).read_text(encoding="utf-8")
    assert session not in text
    found = watermark(home, session)
    assert found is not None
    assert found.end == 90
    assert watermark(home, "139" + "0013" + "8000") is None


def test_archived_closings_count_for_the_watermark(home: Home, now: datetime) -> None:
    _closed(home, now, _closing("a", "2026-11-19", 0, 100), _closing("b", "2026-11-20", 0, 50))
    (home.root / "Archive/DailyActivity").mkdir()
    (home.daily / "2026-11-19.md").rename(home.root / "Archive/DailyActivity/2026-11-19.md")
    found = watermark(home, "a")
    assert found is not None
    assert (found.end, found.path) == (100, "Archive/DailyActivity/2026-11-19.md")
    assert [closing.date for closing in closings(home)] == ["2026-11-19", "2026-11-20"]
    assert closed_parts(home).end_of("a") == 100


def test_closings_that_keep_nothing_are_left_out_for_readers_and_others_keep_their_bytes() -> None:
    def closing(session: str, body: str) -> str:
        one = Closing(session=session, date="2026-11-20", time="10:00", title="T", first=1, last=2, start=0, end=9)
        return render_closing(one, body)

    told = closing("b", "### Topics\n\nroof\n\n### Facts\n\n- The roof leaks. (b#1)\n")
    own = closing("c", NOTHING_KEPT) + "\nA remark by hand.\n"
    empty = [closing("a", NOTHING_KEPT), closing("d", "### Topics\n\nprompt, funny\n")]
    text = "# 2026-11-20\n\n" + "\n".join([empty[0], told, empty[1], own, "## Notes\n\nmine\n"])
    read = without_empty_closings(text)
    assert read == "# 2026-11-20\n\n" + "\n".join([told, own, "## Notes\n\nmine\n"])
    assert without_empty_closings(read) == read
