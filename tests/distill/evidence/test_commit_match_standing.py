"""Claimed work that still stands: reverts, branches, merges, and names in Chinese."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.evidence.checking import check_text
from distill.evidence.claims import content_pairs
from distill.evidence.repository import undoes
from distill.evidence.status import STATES, Evidence, Window
from distill.statements.names import named_paths

if TYPE_CHECKING:
    from ..conftest import Repo

EARLIER, DURING = "2026-01-10T09:00:00+00:00", "2026-03-02T10:30:00+00:00"
WINDOW = Window(since=1772442000.0 - 7200, until=1772442000.0 + 7200)
PLAIN, QUICK = "def parse(line):\n    return line\n", "def parse(line):\n    return CODE.match(line)\n"
CLAIM = "Sped the parser up and changed src/parser.py to a compiled expression."


def ask(text: str, repo: Repo) -> str:
    said = check_text(text, "assistant", [repo.root], WINDOW, timeout_s=20)
    return said.state if said else "no claim"


@pytest.fixture
def repo(make_repo: Callable[[str], Repo]) -> Repo:
    repo = make_repo("work")
    repo.commit("Start", {"src/parser.py": PLAIN, "docs/说明.md": "说明\n"}, EARLIER)
    repo.commit("Speed the parser up with a compiled expression", {"src/parser.py": QUICK}, DURING)
    return repo


def test_a_revert_and_its_revert_are_followed(repo: Repo) -> None:
    assert ask(CLAIM, repo) == "verified"
    speed = repo.git("rev-parse", "HEAD")
    repo.commit(f"Revert it\n\nThis reverts commit {speed}.", {"src/parser.py": PLAIN}, DURING)
    assert ask(CLAIM, repo) == "unverified"
    assert ask(f"Commit {speed[:8]} sped the parser up with a compiled expression.", repo) == "unverified"
    revert = repo.git("rev-parse", "HEAD")
    repo.commit(f"Reapply it\n\nThis reverts commit {revert}.", {"src/parser.py": QUICK}, DURING)
    assert ask(CLAIM, repo) == "verified"


def test_a_partial_revert_leaves_the_rest_standing(repo: Repo) -> None:
    speed = repo.git("rev-parse", "HEAD")
    repo.commit(f"Partially revert {speed}: no cache", {"src/parser.py": QUICK + "# no cache\n"}, DURING)
    assert ask(CLAIM, repo) == "verified"


def test_a_claim_of_a_revert_needs_a_revert(repo: Repo) -> None:
    speed = repo.git("rev-parse", "--short=8", "HEAD")
    assert ask(f"Reverted {speed}.", repo) == "unverified"
    assert ask(f"回滚了 {speed}。", repo) == "unverified"
    repo.commit(f"Back to the plain parser\n\nThis reverts commit {speed}.", {"src/parser.py": PLAIN}, DURING)
    assert ask(f"Reverted {speed}.", repo) == ask(f"回滚了 {speed}。", repo) == "verified"


def test_the_words_of_a_revert_do_not_confirm_the_reverted_work(repo: Repo) -> None:
    speed = repo.git("rev-parse", "HEAD")
    subject = "Speed the parser up with a compiled expression"
    repo.commit(f'Revert "{subject}"\n\nThis reverts commit {speed}.', {"src/parser.py": PLAIN}, DURING)
    assert ask("Improved the parser: implemented a compiled expression for speed.", repo) != "verified"


def test_work_on_another_branch_is_not_verified(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit("Read dates in the parser", {"src/parser.py": QUICK + "# dates\n"}, DURING)
    topic = repo.git("rev-parse", "--short=8", "HEAD")
    repo.git("checkout", "--quiet", "main")
    claims = ("Changed src/parser.py to read dates.", f"Commit {topic} reads dates in the parser, merged to main.")
    assert [ask(text, repo) for text in claims] == ["unverified", "unverified"]
    repo.git("merge", "--quiet", "--no-ff", "topic", "-m", "Merge branch 'topic'", when=DURING)
    assert [ask(text, repo) for text in claims] == ["verified", "verified"]


def test_a_merge_confirms_a_merged_branch(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "-b", "feature/dates")
    repo.commit("Read dates", {"src/dates.py": "DATES = 1\n"}, DURING)
    repo.git("checkout", "--quiet", "main")
    texts = ("Merged the branch feature/dates.", "Merged feature/dates branch.", "合并了分支 feature/dates。")
    assert [ask(text, repo) for text in texts] == ["unverified"] * 3
    repo.git("merge", "--quiet", "--no-ff", "feature/dates", "-m", "Merge branch 'feature/dates'", when=DURING)
    assert [ask(text, repo) for text in texts] == ["verified"] * 3
    assert ask("Merged the branch feature/date.", repo) == "unverified"


def test_chinese_words_confirm_a_claim_when_nearly_all_agree(repo: Repo) -> None:
    repo.commit("修复重复扣款:支付回调增加幂等校验", {"pay.py": "ONCE = 1\n"}, DURING)
    assert ask("修复了重复扣款的问题,支付回调增加了幂等校验。", repo) == "verified"
    assert ask("修复了重复扣款的问题,退款接口增加了频率限制。", repo) == "unverified"
    assert ask("修改了 pay.py,退款接口增加了频率限制。", repo) == "unverified"


def test_names_of_files_may_be_chinese(repo: Repo) -> None:
    assert named_paths("删除了 docs/说明.md和src/a.py,更新`说明.md`") == ["docs/说明.md", "src/a.py", "说明.md"]
    assert ask("删除了 docs/说明.md。", repo) == "contradicted"
    repo.commit("删除说明", {"docs/说明.md": None}, DURING)
    assert ask("删除了 docs/说明.md。", repo) == "verified"


@pytest.mark.parametrize(
    "text",
    [
        "Added caching to `parse()`.", "Added tests for parser.py.", "Added parser.py to the review list.",
        "Removed the logging from parser.py.", "Removed the `parse()` call.", "Removed parser.py's comments.",
        "Removed parser.py from the list of slow modules.", "In parser.py, removed the old branch.",
        "Removed setup.cfg from the docs: parser.py has it all.", "删除了 parser.py 中的日志。",
        "为 parser.py 新增了测试。",
    ],
)  # fmt: skip
def test_an_action_at_or_about_a_thing_is_not_an_action_on_it(repo: Repo, text: str) -> None:
    repo.git("tag", "v1.0.0")
    assert ask(text, repo) in {"unverified", "no claim"}


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Removed these files: parser.py and start.py.", "contradicted"),
        ("Added these files: rules.py, `docs/规则.md`.", "verified"),
        ("Added src/parser.py.", "unverified"),  # it is older than the session,
        ("Added src/rules.py from the repository.", "verified"),
        ("Fixed the crash in v1.0.0.", "unverified"),
        ("Released v1.0.0 with single sign-on.", "unverified"),
        ("Released v1.0.0.", "verified"),
        ("Added rules.py with 12 rules.", "unverified"),
        ("Added rules.py on 2026-03-02.", "verified"),
        ("Renamed `parse()` to `read_line()`.", "unverified"),
        ("Renamed `split_line()` to `read_line()`.", "unverified"),
    ],
)
def test_a_name_alone_does_not_confirm_the_rest_of_a_claim(repo: Repo, text: str, state: str) -> None:
    repo.commit("Rules", {"src/rules.py": "RULES = []\n", "docs/规则.md": "规则\n"}, DURING)
    repo.git("tag", "v1.0.0")
    assert ask(text, repo) == state


@pytest.mark.parametrize(
    "text",
    [
        "Created notes.md in your Documents folder.", "Created table user_events in the warehouse.",
        "Dropped the old_lines column.", "Released docker image a1b2c3d4.", "Updated ticket 7f3e9a1b.",
        "Fixed in 3f9c2e1.", "Removed setup.cfg from the docs: src/parser.py has it all.",
    ],
)  # fmt: skip
def test_a_thing_that_may_be_elsewhere_is_not_contradicted(repo: Repo, text: str) -> None:
    repo.commit("Read lines", {"src/lines.py": "old_lines = 1\n"}, DURING)
    assert ask(text, repo) == "unverified"


@pytest.mark.parametrize(
    "text",
    [
        "Created src/notes.md.", "Added the function user_events to parser.py.", "Removed `parse()`.",
        "Committed as 3f9c2e1.", "新增了函数 `user_events`。", "Deleted parser.py.",
    ],
)  # fmt: skip
def test_a_thing_that_must_be_in_the_repository_is_contradicted(repo: Repo, text: str) -> None:
    assert ask(text, repo) == "contradicted"


def test_one_commit_must_remove_the_old_name_and_add_the_new_one(repo: Repo) -> None:
    repo.commit("Say what it reads", {"src/parser.py": QUICK.replace("parse", "read_line")}, DURING)
    assert ask("Renamed `parse()` to `read_line()`.", repo) == "verified"
    assert ask("把 `parse()` 重命名为 `read_line()`。", repo) == "verified"
    assert ask("Renamed `parse()` to `read_all()`.", repo) == "unverified"


@pytest.mark.parametrize(
    ("subject", "undoing"),
    [
        ("Revert X", True), ('Revert "Revert X"', False), ("回滚订单取消", True), ("Roll back the cache", True),
        ("Keep reverted closings away", True), ("Reverting is tested", True), ("Invert the axis", False),
    ],
)  # fmt: skip
def test_the_subject_shows_an_undoing(subject: str, undoing: bool) -> None:
    assert undoes(subject) is undoing


def test_pairs_do_not_cross_common_words_of_reports() -> None:
    assert content_pairs("修复了支付") == content_pairs("已经修复支付的问题") == {"支付"}


_DETAILS = st.text(st.characters(blacklist_categories=["C", "Z"], blacklist_characters=";,"), min_size=1, max_size=20)


@given(
    st.builds(Evidence, state=st.sampled_from(STATES), commit=st.sampled_from(["", "3f9c2e1"]), detail=_DETAILS),
    st.sampled_from(["", "DailyActivity/2026-11-20.md#s-1a2b3c"]),
)
def test_the_line_of_an_entry_is_read_as_it_was_written(evidence: Evidence, address: str) -> None:
    parsed = Evidence.parse(evidence.render(address))
    assert parsed is not None
    assert parsed[0].render(parsed[1]) == evidence.render(address)
    assert (parsed[0].state, parsed[0].commit, parsed[1]) == (evidence.state, evidence.commit, address)


def test_a_persons_line_is_not_evidence() -> None:
    assert Evidence.parse("seen with my own eyes") is None
    assert Evidence.parse("") is None
