"""The prompt is shown by parts, beside the one of another moment or window."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_home.errors import NoSuchRevision
from agent_home.git.history import head
from agent_home.home import Home
from assembler.errors import WindowTooSmall
from interfaces.api import AgentHome
from interfaces.page.language import translation
from interfaces.page.views.prompt import prompt_view

_ = translation("en")


@pytest.fixture
def noted(home: Home, now: datetime) -> Home:
    AgentHome(home).remember("The first fact is green.", now=now)
    return home


def test_the_parts_are_those_of_the_receipt(noted: Home, now: datetime) -> None:
    view = prompt_view(noted, now, _, message="Which fact is green?")
    assert "The first fact is green." in view.text
    assert [(part.name, part.tokens, part.action) for part in view.parts] == [
        (line.name, line.tokens, line.action) for line in view.receipt.sections
    ]
    assert (view.other, view.other_request, view.prompts) == (None, None, (view.receipt,))
    assert all(part.other_tokens is None for part in view.parts)


def test_another_moment_stands_beside_it(noted: Home, now: datetime) -> None:
    then = head(noted.root)
    AgentHome(noted).remember("The second fact is blue.", now=now)
    view = prompt_view(noted, now, _, other_at=then)
    assert view.other is not None
    assert "second fact" in view.receipt.text
    assert "second fact" not in view.other.text
    assert any(part.other_tokens != part.tokens for part in view.parts)
    assert "second fact" not in prompt_view(noted, now, _, at=then).text


def test_what_either_prompt_lacks_is_told_once(noted: Home, now: datetime) -> None:
    view = prompt_view(noted, now, _, message="Which fact?", other_at="HEAD")
    assert view.other is not None
    assert view.other.degraded
    assert list(view.degraded) == list(dict.fromkeys([*view.receipt.degraded, *view.other.degraded]))


def test_another_window_stands_beside_it(noted: Home, now: datetime) -> None:
    view = prompt_view(noted, now, _, window=200_000, other_window=8_000)
    assert view.other is not None
    assert view.other_request is not None
    assert (view.request.window, view.other_request.window) == (200_000, 8_000)
    beside = {line.name: line.tokens for line in view.other.sections}
    assert {part.name: part.other_tokens for part in view.parts if part.other_tokens} == {
        name: number for name, number in beside.items() if number
    }


def test_a_long_text_is_cut_for_the_page(noted: Home, now: datetime) -> None:
    lines = "".join(f"- Rule {number}: {'word ' * 40}\n" for number in range(400))
    (noted.root / "SOUL.md").write_text(f"# Soul\n\n{lines}")
    view = prompt_view(noted, now, _, window=1_000_000)
    assert view.is_cut == (len(view.receipt.text) > 40_000)
    assert len(view.text) == min(40_000, len(view.receipt.text))


def test_what_is_no_prompt_is_refused(noted: Home, now: datetime) -> None:
    with pytest.raises(WindowTooSmall):
        prompt_view(noted, now, _, window=1)
    for moments in ({"at": "none"}, {"other_at": "--all"}):
        with pytest.raises(NoSuchRevision):
            prompt_view(noted, now, _, **moments)  # type: ignore[arg-type]


@pytest.mark.parametrize("audience", ["group", "<x>", "none", "OWNER"])
def test_an_audience_that_is_not_the_owner_sees_no_private_file(noted: Home, now: datetime, audience: str) -> None:
    assert "The first fact is green." not in prompt_view(noted, now, _, audience=audience).text
