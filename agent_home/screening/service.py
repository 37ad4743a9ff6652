"""Screen every text of a home: one set of rules, and one policy each for writing, showing and indexing.

- **Write** (:meth:`ScreeningService.write`, :meth:`ScreeningService.verdict`): redact in place, quarantine, or refuse.
  A guard that cannot run stops the write.
- **Show** (:meth:`ScreeningService.shown`): a text that fails is a placeholder in a prompt.
- **Index** (:meth:`ScreeningService.indexable`): a secret is a note of its kind, a paragraph that fails is left out.
- **Name** (:meth:`ScreeningService.findings_in_name`): a file whose name fails is in no prompt, hit or pull.

A person's own text may hold e-mail addresses and telephone numbers where it is shown, indexed, or committed by hand
(:meth:`ScreeningService.findings_in_edit`). Reading goes on by the bundled rules while the home's own ones do not work.

A text that was judged is not judged again under the same rules in this process. ``agent_home.screening.clean_texts``
keeps digests of clean texts for later prompts. The guard is loaded with the first text that needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import GuardRefused
from ..home import Home
from .clean_texts import CleanTexts
from .file_names import CATALOGUES, is_plain_path, listed_path
from .ruleset import destination_of, guard_signature, text_key
from .screened_text import ScreenedText

if TYPE_CHECKING:
    from guard import GuardSettings, Verdict

    from .personal_text import LocatedFinding, PersonalTextJudge
    from .review_ledger import Decisions
    from .verdicts import Verdicts
    from .write_policy import WriteScreening

__all__ = ["ScreeningService"]

#: Stands for a name that the guard holds back.
_HELD_NAME = "[name held back by the guard: {}]"


class ScreeningService:
    """Screening of one home's texts. Make one for each operation: rules, approvals and tombstones are read once."""

    def __init__(self, home: Home) -> None:
        self.home = home

    @cached_property
    def signature(self) -> str:
        """Digest of the rules in force. Reading it does not load the guard."""
        return guard_signature(self.home)

    @property
    def settings(self) -> GuardSettings:
        """Guard settings for writes.

        Raises:
            SettingsInvalid, GuardError: see :func:`agent_home.screening.verdicts.guard_settings`.
        """
        return self._verdicts.settings

    @property
    def problem(self) -> str:
        """Reason why texts are judged by the bundled rules alone. Empty while the home's own rules work."""
        problem = self._reader.problem if "_reader" in self.__dict__ else ""
        return f"{problem}. Texts are judged by the bundled rules" if problem else ""

    def verdict(self, path: str, text: str, source: str) -> Verdict:
        """Return the write policy's verdict on *text* from *source* for the file *path*.

        A forgotten text does not come back: a mark takes its place before the guard reads the rest.

        Raises:
            GuardRefused: the guard cannot run, or *text* is longer than the guard reads. Nothing may be written.
        """
        from guard import GuardError

        scrubbed = self._scrub(text)
        try:
            verdict = self._verdicts.to_store(scrubbed, source, destination_of(path))
        except GuardError as error:
            raise GuardRefused(path, f"it cannot run: {error}") from error
        if any(finding.rule == "oversize" for finding in verdict.findings):  # unread, so quarantine could not keep it
            raise GuardRefused(path, f"{len(text)} characters are more than it reads at once. Split the text")
        if scrubbed == text:
            return verdict
        from .write_policy import with_forgotten

        return with_forgotten(verdict, text)

    def without_values(self, path: str, text: str, source: str, *, formats_only: bool = False) -> tuple[str, int]:
        """Return *text* with marks in place of secrets, personal data and forgotten words, and how many there are.

        Everything else stays as it is, an attack and hidden characters included: readers get it through
        :meth:`verdict`. With *formats_only* only secrets in known formats are looked for, which is ten times faster.

        Raises:
            GuardRefused: the guard cannot run, or *text* is longer than it reads.
        """
        from guard import GuardError, redact_values

        scrubbed = self._scrub(text)
        try:
            clean, found = redact_values(
                scrubbed, source, destination_of(path), settings=self.settings, formats_only=formats_only
            )
        except (GuardError, ValueError) as error:
            raise GuardRefused(path, f"it cannot run: {error}") from error
        return clean, found + (scrubbed != text)

    def allows(self, path: str, text: str, source: str) -> bool:
        """Return whether the write policy stores *text* unchanged.

        Raises:
            GuardRefused: as for :meth:`verdict`.
        """
        return self.verdict(path, text, source).action == "allow"

    def write(
        self, *, source: str, session: str, ts: str, actor: str, decided: Decisions, by_hand: bool = False
    ) -> WriteScreening:
        """Return the screening of one write, by *actor* at the time *ts*, under the decisions of people.

        With *by_hand*, people put the texts into files of another clone, and their addresses may stay.
        """
        from .write_policy import WriteScreening

        judge = self._verdict_by_hand if by_hand else self.verdict
        return WriteScreening(self.home, judge, source=source, session=session, ts=ts, actor=actor, decided=decided)

    def findings_in_edit(self, path: str, before: str, after: str) -> list[LocatedFinding]:
        """Return the findings in the text that a person's edit of *path* adds, in order of the line.

        A guard that cannot run holds the edit back, as any write.
        """
        from .hand_edits import findings_in_edit

        return findings_in_edit(self._writer, path, before, after)

    def shown(self, path: str, text: str) -> ScreenedText:
        """Return the Markdown *text* of the file *path* as a model may see it."""
        text = self._without_held_names(text) if path in CATALOGUES else text
        if not text or text_key(self.signature, path, text) in self._clean:
            return ScreenedText(text=text)
        from .show_policy import shown

        screened = shown(self._reader, self.signature, path, text, self._clean)
        self._clean.add(screened.clean)
        return screened

    def keep_clean(self) -> None:
        """Keep the digests of texts that were found clean for the prompts of other processes."""
        if not self.problem:
            self._clean.keep()

    def indexable(self, path: str, text: str) -> ScreenedText:
        """Return *text* of the file *path* as it may be indexed, with every line at its place."""
        from .index_policy import indexable

        return indexable(self._reader, path, text)

    def findings_in_name(self, path: str, *, own: bool = True) -> tuple[LocatedFinding, ...]:
        """Return what the guard finds in the names of the file *path* and its folders, secrets first.

        No reader may be shown a name with findings. *own* says that they are the owner's names, not those of a pull.
        Plain names do not load the guard, and clean ones are remembered as clean texts are.
        """
        if is_plain_path(path) and not self.home.manifest.tables.get("guard", {}).get("rules"):
            return ()
        key = text_key(self.signature, "/own-name" if own else "/name", path)  # no file of a home is called so
        if key in self._clean:
            return ()
        from .name_policy import findings_in_name

        found = findings_in_name(self._reader, path, own=own)
        if not found and not self.problem:
            self._clean.add([key])
        return found

    def shown_path(self, path: str, *, own: bool = True) -> str:
        """Return *path* as readers may see it: itself, or its first folder and a note."""
        found = self.findings_in_name(path, own=own)
        if not found:
            return path
        first, slash, _ = path.partition("/")
        folder = first + slash if slash and not self.findings_in_name(first, own=own) else ""
        return folder + _HELD_NAME.format(found[0].name)

    def _without_held_names(self, text: str) -> str:
        """Return a list of documents with notes in place of the lines whose names no reader may be shown."""
        lines = text.split("\n")
        for place, line in enumerate(lines):
            if (listed := listed_path(line)) and self.findings_in_name(listed):
                lines[place] = f"- {self.shown_path(listed)}"
        return "\n".join(lines)

    def _verdict_by_hand(self, path: str, text: str, source: str) -> Verdict:
        """Return the write policy's verdict, or an acceptance of what a person may put into a file by hand."""
        from guard import Action, Source

        if Source(source).trusted and self._scrub(text) == text:
            verdict = self._writer.verdict(path, text)
            if not any(one.layer == "secret" or one.action >= Action.QUARANTINE for one in verdict.findings):
                return replace(verdict, action=Action.ALLOW, text=text, findings=())
        return self.verdict(path, text, source)

    @cached_property
    def _verdicts(self) -> Verdicts:
        from .verdicts import guard_settings, verdicts_under

        return verdicts_under(guard_settings(self.home))

    @cached_property
    def _scrub(self) -> Callable[[str], str]:
        from ..forgetting.tombstones import scrubber

        return scrubber(self.home)

    @cached_property
    def _reader(self) -> PersonalTextJudge:
        from .personal_text import PersonalTextJudge

        return PersonalTextJudge(self.home, reading=True)

    @cached_property
    def _writer(self) -> PersonalTextJudge:
        from .personal_text import PersonalTextJudge

        return PersonalTextJudge(self.home)

    @cached_property
    def _clean(self) -> CleanTexts:
        return CleanTexts(self.home)
