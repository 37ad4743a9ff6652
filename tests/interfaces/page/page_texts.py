"""Every text that the page translates: in its templates, in its code, and names of other packages that it shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

from jinja2 import Environment, nodes

from agent_home.documents.entry import SECTIONS
from agent_home.documents.standing import EntryState
from agent_home.store.references import Kind
from distill.evidence.status import STATES
from distill.review.decided_items import DecidedItem
from distill.review.queue import ReviewItem
from distill.statements.risk import RISKS
from interfaces.doctor.health import Status
from recall.index.passage import LAYERS

__all__ = ["named_texts", "template_texts", "written_texts"]

PAGE = Path(__file__).parents[3] / "interfaces" / "page"
#: Names under which templates and code call the translation.
_CALLED = frozenset({"_", "translate"})


def template_texts() -> Iterator[str]:
    """Yield the texts that templates translate."""
    environment = Environment(autoescape=True)
    for path in sorted((PAGE / "templates").glob("*.html")):
        for call in environment.parse(path.read_text("utf-8")).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in _CALLED:
                yield from (node.value for node in call.args[:1] if isinstance(node, nodes.Const))
                yield from (
                    choice.value
                    for node in call.args[:1]
                    for choice in node.find_all(nodes.Const)
                    if isinstance(node, nodes.CondExpr) and isinstance(choice.value, str)
                )


def written_texts() -> Iterator[str]:
    """Yield the texts that the code of the page translates, and those of its problems."""
    for path in sorted(PAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in _CALLED:
                yield from _strings(node.args[:1])
            elif node.func.id == "page_problem":
                yield from _strings(node.args[2:3])


def named_texts() -> Iterator[str]:
    """Yield the names that the page shows of what other packages know."""
    yield from RISKS
    yield from STATES
    yield from LAYERS
    yield from (rule.title for rule in SECTIONS)
    for closed in (EntryState, Kind, Status, get_type_hints(ReviewItem)["kind"], get_type_hints(DecidedItem)["action"]):
        yield from get_args(closed)
    yield from ("added", "changed", "removed", "archived", "restored")  # actions of events of entries
    yield from ("kept", "cut", "indexed", "dropped")  # actions of parts of a prompt
    yield from ("comfortable", "watch", "dilution risk")  # what the assembler says of a prompt's size
    yield from (
        "Origin",
        "About",
        "Tags",
        "Until",
        "State",
        "Protected",
    )  # fields of entries that the page shows by name
    yield from ("user", "participant", "assistant", "agent", "tool", "system")  # roles and origins


def _strings(found: list[ast.expr]) -> Iterator[str]:
    yield from (node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str))
