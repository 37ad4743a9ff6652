"""Run the interactive review: show what waits item by item, ask for a key, decide, and undo.

Each decision is one call of ``distill.review.queue``, as with ``memory review accept``. It is complete before the next
question, so a session can be left at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import click

from agent_home.visible import revealed

from ...counts import counted
from ..columns import Span, wrapped, wrapped_spans
from ..exit_codes import exit_code
from ..render import line_width, with_colours, write_line, write_spans
from .editing import edited
from .item_view import ItemView, Layout, details, summary
from .keys import press, uninterrupted
from .word_diff import diff_spans

if TYPE_CHECKING:
    from agent_home.home import Home
    from distill.review.grounds import Grounds
    from distill.review.quarantine_review import AcceptMode
    from distill.review.queue import ReviewItem, ReviewOutcome

__all__ = ["ReviewSession"]

#: Each key, its name in the question, and what it does.
_KEYS: Mapping[str, tuple[str, str]] = {
    "a": ("accept", "write the text to its place, or end the entry"),
    "w": ("without", "accept it without the sentences that the guard objects to"),
    "e": ("edit", "change the text in $VISUAL or $EDITOR. It still waits then"),
    "r": ("reject", "drop the text. The same one is not proposed again"),
    "s": ("skip", "leave it waiting, and go on"),
    "u": ("undo", "take the last decision back"),
    "d": ("details", "all that is known, and the change of the file"),
    "q": ("quit", "stop. What you did not decide still waits"),
}
_COUNTED = ("accepted", "rejected", "edited", "undone", "skipped")
_YES = "y"


@dataclass(slots=True)
class ReviewSession:
    """One session of *person*. *clock* gives the time of each decision. *counts* says what was done, by action."""

    home: Home
    person: str
    clock: Callable[[], datetime]
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    _decided: list[str] = field(default_factory=list)
    _skipped: set[str] = field(default_factory=set)
    _drafts: dict[str, str] = field(default_factory=dict)
    _left: set[str] = field(default_factory=set)
    _wanted: str = ""
    _waiting: list[ReviewItem] = field(default_factory=list)
    _is_old: bool = False

    @property
    def changed_home(self) -> bool:
        """Return whether this session wrote to files of the home."""
        return any(self.counts[name] for name in ("accepted", "rejected", "undone"))

    def run(self) -> None:
        """Ask about one text after another until none is left or the person quits.

        Raises:
            NotAllowed: *person* may not decide.
            KeyboardInterrupt: the person pressed Ctrl-C. Every decision made before is complete.
        """
        from distill.review.deciders import require_person

        self.person = require_person(self.home, self.person)
        self._read_queue()
        waits = len(self._waiting)
        if not waits:
            _say("Nothing waits for a decision. `memory review undo` takes the last one back.")
            return
        _say(f"{counted(waits, 'text waits', 'texts wait')} for a decision. You decide as {self.person}. Keys: ?")
        try:
            while (item := self._next()) is not None and self._ask(item):
                pass
        except EOFError:  # Ctrl-D quits, too
            pass
        finally:
            self._sum_up()

    def _next(self) -> ReviewItem | None:
        """Return the text that an undo brought back, or else the oldest one that was not skipped."""
        if self._is_old:
            self._read_queue()
        found = [item for item in self._waiting if item.id not in self._skipped]
        self._left = {item.id for item in found}
        wanted, self._wanted = self._wanted, ""
        return next((item for item in found if item.id == wanted), found[0] if found else None)

    def _read_queue(self) -> None:
        """Read what waits. A decision may change more than its own text, so this is done again after each."""
        from distill.review.queue import waiting

        self._waiting = waiting(self.home, self.clock())
        self._is_old = False

    def _ask(self, item: ReviewItem) -> bool:
        """Show *item* and take keys until it is left. Return whether the session goes on."""
        grounds = self._grounds(item)
        seen = self._show(item, grounds, whole=item.foreign)
        while True:
            key = _question(_keys_for(item))
            if key == "q":
                return False
            if key == "?":
                _help(_keys_for(item))
            elif key == "d" or (key in {"a", "w"} and not seen):
                if key != "d":
                    _say("There is more of this text than you have seen:")
                seen = self._show(item, grounds, whole=True)
            elif self._do(key, item, grounds):
                return True

    def _do(self, key: str, item: ReviewItem, grounds: Grounds) -> bool:
        """Do what *key* asks for, and return whether *item* is left. What is refused is said, and *item* stays."""
        from distill.errors import NoSuchProposal

        actions: Mapping[str, Callable[[], bool]] = {
            "a": lambda: self._accept(item, "as-is"),
            "w": lambda: self._accept(item, "redacted"),
            "e": lambda: self._edit(item, grounds),
            "r": lambda: self._reject(item),
            "s": lambda: self._skip(item),
            "u": self._undo,
        }
        self._is_old = self._is_old or key != "s"
        try:
            return actions[key]()
        except NoSuchProposal:
            _say(f"{item.id} was decided or changed by somebody else meanwhile.", problem=True)
            return True
        except click.ClickException as error:
            _say(error.format_message(), problem=True)
        except Exception as error:
            if exit_code(error) is None:
                raise
            _say(str(error), problem=True)
        return False

    def _accept(self, item: ReviewItem, mode: AcceptMode) -> bool:
        from distill.review.queue import accept

        if item.risk == "high" and not _confirmed(f"Its risk is high. Really accept {item.id}?"):
            return False
        with uninterrupted():
            self._note(accept(self.home, item, person=self.person, now=self.clock(), mode=mode))
        return True

    def _reject(self, item: ReviewItem) -> bool:
        from distill.review.queue import reject

        with uninterrupted():
            self._note(reject(self.home, item, person=self.person, now=self.clock()))
        return True

    def _skip(self, item: ReviewItem) -> bool:
        self._skipped.add(item.id)
        self.counts["skipped"] += 1
        return True

    def _edit(self, item: ReviewItem, grounds: Grounds) -> bool:
        from distill.review.queue import edit

        draft = self._drafts.get(item.id, grounds.statement)
        text = edited(item.id, draft)
        if not text and item.id in self._drafts:
            text = draft  # it was refused before, and is tried again as it is
        if not text:
            _say("Nothing was changed.")
            return False
        self._drafts[item.id] = text
        with uninterrupted():
            self._note(edit(self.home, item, text, person=self.person, now=self.clock()))
        del self._drafts[item.id]
        self._wanted = item.id
        return True

    def _undo(self) -> bool:
        """Take the last decision of this session back, or after a question one of an earlier session."""
        from distill.review.decided_items import undoable
        from distill.review.undo import undo

        found = undoable(self.home, self.clock())
        wanted = self._decided[-1] if self._decided else found[0].id if found else ""
        if not wanted:
            _say("There is no decision of the last day to undo.")
            return False
        if not self._decided:
            was = found[0]
            told = f"{was.id} was {was.action} by {was.person} before this session, at {was.ts[:16]}. Undo that?"
            if not _confirmed(told):
                return False
        with uninterrupted():
            done = undo(self.home, wanted, person=self.person, now=self.clock())
            self._decided = self._decided[:-1]
            self.counts["undone"] += 1
            self._skipped.discard(done.item.id)
            self._wanted = done.item.id
            commit = f", commit {done.commit[:7]}" if done.commit else ""
            _say(f"{done.item.id}: undone{commit}. It waits again.")
        return True

    def _note(self, outcome: ReviewOutcome) -> None:
        """Count a decision and say what it did."""
        from distill.review.decided_items import undoable

        self.counts[outcome.action] += 1
        self._decided.append(outcome.item.id)
        commit = f", commit {outcome.commit[:7]}" if outcome.commit else ""
        entry = f" as [{outcome.entry}]" if outcome.entry and not outcome.item.ends else ""
        kept = any(item.id == outcome.item.id for item in undoable(self.home, self.clock()))
        final = "" if kept else ". This cannot be undone"
        _say(f"{outcome.item.id}: {outcome.action}{entry}, {outcome.path}{commit}{final}")
        if outcome.action == "edited":
            for spans in diff_spans([revealed(line) for line in outcome.diff], marked=not with_colours()):
                _write(wrapped_spans(spans, line_width()))

    def _grounds(self, item: ReviewItem) -> Grounds:
        from distill.review.grounds import grounds_of

        return grounds_of(self.home, item, self.clock())

    def _show(self, item: ReviewItem, grounds: Grounds, *, whole: bool) -> bool:
        """Print *item*, and return whether all of its text was shown."""
        from distill.review.queue import note_shown

        view = self._details(item, grounds) if whole else summary(item, grounds, _layout())
        gone = len((set(self._decided) | self._skipped) - self._left)
        write_line("")
        write_spans([(f"{gone + 1} of {gone + len(self._left)}  ", "faint"), *view.lines[0]])
        _write(view.lines[1:])
        if view.complete:
            note_shown(self.home, item)
        return view.complete

    def _details(self, item: ReviewItem, grounds: Grounds) -> ItemView:
        from distill.errors import NotPlaceable
        from distill.review.queue import plan

        try:
            diff: Sequence[str] = plan(self.home, item).diff
        except NotPlaceable as error:
            diff = (f"({error})",)
        return details(item, grounds, diff, _layout())

    def _sum_up(self) -> None:
        if self._is_old:
            self._read_queue()
        told = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count)
        left = len(self._waiting)
        still = counted(left, "text still waits", "texts still wait") if left else "Nothing waits any more"
        _say(f"{told or 'Nothing was decided'}. {still}.")


def _keys_for(item: ReviewItem) -> list[str]:
    """Return the keys that apply to *item*, in their order."""
    other = set() if item.kind == "quarantine" else {"w"}
    other |= set() if item.kind == "proposal" and not item.ends else {"e"}
    return [key for key in _KEYS if key not in other]


def _question(keys: Sequence[str]) -> str:
    """Ask for one of *keys* or ``?`` until it is pressed."""
    spans: list[Span] = [span for key in keys for span in ((key, "strong"), (f" {_KEYS[key][0]}  ", "plain"))]
    while True:
        key = _pressed([*spans, ("? ", "strong")])
        if key in {*keys, "?"}:
            return key
        _say(f"Press one of {', '.join(keys)}, or ? for help.", problem=True)


def _confirmed(question: str) -> bool:
    return _pressed([(f"{question} ", "warning"), ("y/N ", "strong")]) == _YES


def _pressed(question: Sequence[Span]) -> str:
    """Ask a question in one line, and return the key."""
    try:
        key = press(lambda: write_spans(question, newline=False))
    except (EOFError, KeyboardInterrupt):
        write_line("")
        raise
    write_line(key if key.isprintable() and len(key) == 1 else "")
    return key


def _help(keys: Sequence[str]) -> None:
    for key in keys:
        write_spans([(f"  {key}  ", "strong"), (_KEYS[key][1], "plain")])
    write_spans([("  Ctrl-C and Ctrl-D stop as well. Every decision is complete at once.", "faint")])


def _layout() -> Layout:
    return Layout(width=line_width(), marked=not with_colours())


def _write(lines: Sequence[Sequence[Span]]) -> None:
    for line in lines:
        write_spans(line)


def _say(text: str, *, problem: bool = False) -> None:
    for line in wrapped(revealed(" ".join(text.split())), line_width()):
        write_spans([(line, "warning" if problem else "plain")])
