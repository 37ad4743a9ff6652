"""Fixtures: git repositories with scripted histories, conversations and homes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_home.creation import create
from agent_home.home import Home
from agent_home.store.transcript import Message


class Repo:
    """A git repository that tests write commits into at chosen times."""

    def __init__(self, root: Path) -> None:
        self.root = root
        if not root.exists():
            root.mkdir(parents=True)
            self.git("init", "--quiet", "--initial-branch=main")

    def copied_to(self, root: Path) -> Repo:
        """Return a copy: it is made in a tenth of the time that a history takes."""
        shutil.copytree(self.root, root, symlinks=True)
        copy = Repo(root)
        # The copies have other inodes. Without this, git takes every file for changed until it has read it.
        copy.git("update-index", "-q", "--refresh")
        return copy

    def git(self, *arguments: str, when: str = "2026-01-10T09:00:00+00:00") -> str:
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_COMMITTER_DATE": when,
        }  # fmt: skip
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str, files: Mapping[str, str | None], when: str = "2026-01-10T09:00:00+00:00") -> str:
        """Write *files* (``None`` removes one), commit, and return the short hash."""
        written = {name: text for name, text in files.items() if text is not None}
        for name, text in written.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if written:
            self.git("add", *written)
        if removed := files.keys() - written.keys():
            self.git("rm", "--quiet", *removed)
        self.git("commit", "--quiet", "--allow-empty", "-m", message, when=when)
        return self.git("rev-parse", "--short=8", "HEAD")


@pytest.fixture(scope="session")
def new_repo() -> Callable[[Path], Repo]:
    return Repo


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[[str], Repo]:
    return lambda name: Repo(tmp_path / name)


#: Rows of ``(role, content)``.
Talk = Callable[..., list[Message]]


@pytest.fixture
def talk() -> Talk:
    """A conversation from rows: messages m1, m2, ... one minute apart from 14:01 on."""

    def make(
        *rows: tuple[str, str], session: str = "fc-1", cwd: str = "", day: str = "2026-11-20", first: int = 1
    ) -> list[Message]:
        return [
            Message(session=session, id=f"m{n}", ts=f"{day}T14:{n % 60:02d}:00", role=role, content=content, cwd=cwd)
            for n, (role, content) in enumerate(rows, first)
        ]

    return make


@pytest.fixture
def wide() -> Callable[[str], str]:
    """Return a function that gives text full-width punctuation, as Chinese keyboards do."""
    return lambda text: text.translate({ord(narrow): ord(narrow) + 0xFEE0 for narrow in ",:;()?!%"})


@pytest.fixture
def review() -> tuple[tuple[str, str], ...]:
    """A forecast review: a wrong figure, its correction, slipped deals, a preference and an open thread."""
    return (
        ("user", "Morning! 我们过一下 Q4 forecast,MEAGS 的 gap 有多大?"),
        (
            "assistant",
            "看过 pipeline 了。\n\n**结论**:\n- MEAGS 缺口 -8 %,主要来自三个滑单\n- EMEA 持平\n\n明细:\n"  # noqa: ISC004
            "1. Alder ¥0.6M 推迟到 Q1\n2. Birch ¥2.1M 预算冻结\n3. Cedar ¥0.4M 合同还在法务",
        ),
        ("user", "不对,MEAGS 是 -12 %,不是 -8 %。"),
        ("assistant", "更正后的结论:MEAGS 的 forecast gap 是 -12 %,风险最大。"),
        ("user", "决定:Birch 从 commit 挪到 best case,因为预算冻结。"),
        ("user", "以后 forecast 都按 BU 从风险最大到最小排序。"),
        ("assistant", "教训:滑单要在季度中间就检查预算状态。"),
        ("assistant", "待确认:CFO 什么时候解冻预算?\n下一步:和销售确认 Alder 的签约日期。"),
    )


@pytest.fixture(scope="session")
def make_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Home]:
    """Return a function that makes a new home in a folder, for tests that need several. All are copies of the first."""
    pattern = tmp_path_factory.mktemp("pattern") / "home"

    def make(folder: Path) -> Home:
        if not pattern.exists():
            create(pattern, name="Test", now=datetime(2026, 1, 1, tzinfo=UTC))
        root = Path(shutil.copytree(pattern, folder / "home", symlinks=True))
        subprocess.run(["git", "-C", str(root), "update-index", "-q", "--refresh"], check=True)
        return Home(root)

    return make
