"""USER.md counts as filled in once it says who the user is."""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files

import pytest

from agent_home.home import Home
from assembler.onboarding import is_filled
from assembler.prompt import Request, assemble


def test_user_file_of_a_new_home_is_not_filled() -> None:
    assert not is_filled(files("agent_home.template").joinpath("USER.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("", False),
        ("# User\n\n- **Name:** Ada\n- **Role:** analyst\n- **Timezone:**\n- **Do not:**\n", True),
        ("# User\n\n- **Name:** Ada\n- **Role:**\n- **Timezone:**\n- **Do not:**\n", False),
        ("# 用户\n\n- **姓名：**小林\n- **职务：**\n", True),
        ("# User\n\nAda leads the data team in Lisbon and reads mail in the evening.\n", True),
        ("# User\n\nNot told yet.\n", False),
    ],
)
def test_half_of_the_blanks_or_some_prose_is_enough(text: str, filled: bool) -> None:
    assert is_filled(text) is filled


def test_onboarding_leaves_the_prompt_when_the_user_is_known(home: Home, now: datetime) -> None:
    def shown() -> set[str]:
        receipt = assemble(Home(home.root), Request(now=now))
        return {line.name for line in receipt.sections if line.action == "kept"}

    assert "BOOTSTRAP" in shown()
    (home.root / "USER.md").write_text("# User\n\n- **Name:** Ada\n", encoding="utf-8")
    assert "BOOTSTRAP" not in shown()
