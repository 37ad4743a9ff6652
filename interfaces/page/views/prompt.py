"""Show the prompt for a message, window and audience: its parts by tokens, near misses, and a second one beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from markupsafe import Markup

from agent_home.audience import Audience
from agent_home.home import Home
from assembler.prompt import Request
from assembler.receipt import EntryLine, Receipt

from ...prompting import assembled_prompt
from ..charts import Chart, Series, part_bars
from ..language import Translate
from .moments import commit_at

__all__ = ["WINDOWS", "PromptPart", "PromptView", "prompt_view"]

#: Windows of models that a person can choose, in tokens. 0 is the setting of the home.
WINDOWS = (0, 8_000, 32_000, 64_000, 128_000, 200_000, 500_000, 1_000_000)
_MOST_MISSES = 40
#: Characters of the prompt's text that are shown.
_MOST_CHARS = 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPart:
    """A part of the prompt, with its tokens in the prompt, in its file, and in the prompt beside it."""

    name: str
    tokens: int
    full_tokens: int
    action: str
    reason: str
    other_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    """A prompt with its receipt. *other* is the prompt that it is compared with."""

    request: Request
    receipt: Receipt
    parts: tuple[PromptPart, ...]
    near_misses: tuple[EntryLine, ...]
    other: Receipt | None
    other_request: Request | None
    picture: Markup

    @property
    def windows(self) -> tuple[int, ...]:
        return WINDOWS

    @property
    def day(self) -> str:
        """Today, as an example of a day."""
        return f"{self.request.now:%Y-%m-%d}" if self.request.now else ""

    @property
    def text(self) -> str:
        """The text of the prompt, as far as the page shows it."""
        return self.receipt.text[:_MOST_CHARS]

    @property
    def is_cut(self) -> bool:
        return len(self.receipt.text) > _MOST_CHARS

    @property
    def prompts(self) -> tuple[Receipt, ...]:
        """The prompt, and the one that it is compared with."""
        return (self.receipt, self.other) if self.other is not None else (self.receipt,)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Problems of either prompt, such as no search for one of the past."""
        return tuple(dict.fromkeys(problem for prompt in self.prompts for problem in prompt.degraded))

    @property
    def audiences(self) -> tuple[str, ...]:
        return tuple(str(name) for name in Audience)


def prompt_view(
    home: Home, now: datetime, _: Translate, *, message: str = "", window: int = 0, audience: str = "owner",
    at: str = "", other_at: str = "", other_window: int | None = None,
) -> PromptView:  # fmt: skip
    """Return the prompt as of *at*, a commit or a day, beside the one of *other_at* or *other_window*, if any.

    Raises:
        WindowTooSmall, HistoryError: see :func:`assembler.prompt.assemble`.
    """
    request = Request(
        message=message, window=window, audience=audience, now=now, at=commit_at(home, at)
    )  # fmt: skip
    receipt = assembled_prompt(home, request)
    other_request = other = None
    if other_at or other_window is not None:
        wanted = window if other_window is None else other_window
        other_request = replace(request, window=wanted, at=commit_at(home, other_at) if other_at else request.at)
        other = assembled_prompt(home, other_request)
    parts = _parts(receipt, other)
    return PromptView(
        request=request, receipt=receipt, parts=parts,
        picture=part_bars(_chart(parts, compares=other is not None, _=_)),
        near_misses=receipt.near_misses[:_MOST_MISSES], other=other, other_request=other_request,
    )  # fmt: skip


def _chart(parts: Sequence[PromptPart], *, compares: bool, _: Translate) -> Chart:
    """Return the tokens of the parts in one bar, and beside it those of the prompt that it is compared with."""
    largest = max(parts, key=lambda part: part.tokens, default=None)
    described = _("The largest part is {name} with {n} tokens.", name=largest.name, n=largest.tokens) if largest else ""
    return Chart(
        key="parts", title=_("Tokens of the prompt by part"), description=described, label_name=_("Prompt"),
        labels=[_("This prompt"), _("Compared")] if compares else [_("This prompt")], unit=_("tokens"),
        series=[
            Series(name=part.name, values=[part.tokens, part.other_tokens] if compares else [part.tokens])
            for part in parts
        ],
    )  # fmt: skip


def _parts(receipt: Receipt, other: Receipt | None) -> tuple[PromptPart, ...]:
    """Return the parts in prompt order, and behind them those that only the other prompt has."""
    beside = {line.name: line.tokens for line in other.sections} if other is not None else {}
    found = [
        PromptPart(
            name=line.name, tokens=line.tokens, full_tokens=line.full_tokens, action=line.action, reason=line.reason,
            other_tokens=beside.pop(line.name, 0) if other is not None else None,
        )
        for line in receipt.sections
    ]  # fmt: skip
    return (*found, *(
        PromptPart(name=name, tokens=0, full_tokens=0, action="dropped", reason="", other_tokens=tokens)
        for name, tokens in beside.items()
    ))  # fmt: skip
