"""Tell mail, chats and pages that a user pasted from the user's own words.

A paste without tags or quotation marks is known by its layout: the header lines of a mail, the line that says who wrote
and when, a salutation with a signature, lines of a chat that begin with names or times, the furniture of a page around
its text. Layout is much the same in all languages. What programs write, such as ``Subject:``, is a short list.

Whoever wrote the paste may have written its last lines, too. So the user's words are those before it, and behind it a
last paragraph that only asks something. A user's request behind a paste becomes part of it, which is the safe mistake.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from guard.lazy_regex import lazy_regex

__all__ = ["PastedText", "split_pasted"]

#: Lines of a message that are read, and characters of a line. Longer lines are prose.
_MAX_LINES, _MAX_LINE_CHARS = 4_000, 300
#: Header lines as mail programs write them: who, when, about what.
_HEADER = lazy_regex(
    r"[\s>*]{0,4}(?P<label>from|sent|to|cc|subject|date|reply-to|von|gesendet|an|betreff|datum|de|envoy\u00e9|\u00e0|objet"
    r"|enviado(?: el)?|para|asunto|fecha|da|inviato|a|oggetto|data|assunto|van|verzonden|aan|onderwerp"
    r"|od|do|temat|tem[ay]"
    r"|fr\u00e5n|till|\u00e4mne|\u043e\u0442|\u043a\u043e\u043c\u0443|\u0434\u0430\u0442\u0430|\u0442\u0435\u043c\u0430"
    r"|\u53d1\u4ef6\u4eba|\u6536\u4ef6\u4eba|\u53d1\u9001\u65f6\u95f4|\u65e5\u671f|\u4e3b\u9898|\u6284\u9001"
    r"|\u5dee\u51fa\u4eba|\u5b9b\u5148|\u4ef6\u540d|\u65e5\u6642|\u9001\u4fe1\u65e5\u6642"
    r")\*?[ \u00a0]?[:\uff1a]\*?\s*\S.*",
)
_ADDRESS = lazy_regex(r"[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,63}")
_TIME = lazy_regex(r"\b\d{1,2}[:.h]\d{2}\b")
_YEAR = lazy_regex(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_DATE = lazy_regex(
    r"(?<!\d)(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}\.? \w{3,12}\.?,? \d{4}|\w{3,12}\.? \d{1,2},? \d{4})"
)
_WROTE = lazy_regex(
    r"\b(?:wrote|schrieb|\u00e9crit|escribi\u00f3|scritto|escreveu|schreef|skrev|napisa\u0142a?)\b.{0,60}$"
    r"|\u0438\u0441\u0430\u043b\u0430?|\u5199\u9053|\u5beb\u9053|\u66f8\u304d\u307e\u3057\u305f"
)
#: A line such as "-------- Forwarded message --------".
_SEPARATOR = lazy_regex(r"\s*[-_=\u2014]{3,}\s*[^\W\d_][^-_=]{3,40}[-_=\u2014]{3,}\s*")
_SAID = lazy_regex(
    r"\s*(?P<when>\[?(?:\d[\d./-]{3,9},?\s{1,3})?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?\]?\s{0,2}-?\s{0,2})?"
    r"(?P<name>[^\W\d_][^\s:\uff1a]{0,20}(?: [^\W\d_][^\s:\uff1a]{0,20}){0,2})"
    r"[ \u00a0]?[:\uff1a](?!//)\s*\S.*"
)
#: A name with a time on a line of its own, as chat programs copy it.
_NAME_AND_TIME = lazy_regex(
    r"\s*[^\W\d_][^:\uff1a,.!?]{0,30}\s+(?:\d{4}-\d{2}-\d{2}\s+)?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?\s*"
)
#: Who speaks in a log of an assistant, where the user may have pasted their own words, and labels of the user's notes.
_NO_OTHERS = frozenset({
    "user", "human", "me", "you", "assistant", "ai", "system", "bot", "decision", "preference", "open", "lesson",
    "done", "remember", "todo", "note", "\u7528\u6237", "\u52a9\u624b", "\u6211", "\u51b3\u5b9a", "\u504f\u597d",
    "\u5f85\u529e", "\u6559\u8bad", "\u5df2\u5b8c\u6210",
})  # fmt: skip
_TRAIL = lazy_regex(
    r"\s*[^\s>\u00bb/|\u203a][^>\u00bb/|\u203a]{0,40}(?:\s[>\u00bb/|\u203a\u2192]\s[^>\u00bb/|\u203a]{1,40}){1,8}\s*"
)
_RIGHTS = lazy_regex(r"\u00a9|\(c\) (?:19|20)\d\d|copyright|\u7248\u6743\u6240\u6709|\bcookies?\b.{0,20}$")
_SENTENCE_END = lazy_regex(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u00bb)]*\s*$")
_SENTENCE_INSIDE = lazy_regex(r"[.!\u3002\uff01](?=\s|$|[\u3400-\u9fff\u3040-\u30ff])|\n")
_ASKS = lazy_regex(r"[?\uff1f]\s*$")
#: A salutation: a few words with a comma, a colon or an exclamation mark behind them, and an honorific in Japanese.
_SALUTATION = lazy_regex(r"\s*[^\W\d_][^\n,.;:!?\u3002\uff01\uff1f]{1,45}(?:[,:!\uff0c\uff1a\uff01]|\u69d8)\s*")
#: The last words before a name, and a name or a place of work.
_CLOSING = lazy_regex(r"\s*[^\W\d_][^\n.;:?!\u3002]{1,45}[,\uff0c.!\u3002]?\s*")
_SIGNATURE = lazy_regex(r"\s*(?:--\s*)?[^\W_a-z][^\n;:?!\u3002]{0,60}\s*")
_MAX_CLOSING_WORDS = 5
_MAX_REQUEST_CHARS = 150
_MAX_HEAD_CHARS = 60
_MAX_FURNITURE_CHARS = 160
#: Words for a text that stands beside the request, in the languages of the header lines.
_THIS_TEXT = lazy_regex(
    r"\b(?:this|that|these|the following|following|below|diese[rnms]?|folgende[rnms]?|cet(?:te)?|ce"
    r"|est[aeo]|quest[aoe]?|dit|deze"
    r"|\u044d\u0442\w{1,2})[ '\u2019]{0,2}(?:\w{1,12} )?(?:(?:e-?)?mails?|messages?|letter|page|article|thread"
    r"|chat(?: ?log)?|log|post"
    r"|e-?mail|nachricht|brief|seite|artikel|text|lettre|texte|courriel|mensaje|correo|carta|p\u00e1gina|art[i\u00ed]culo|art[i]go"
    r"|mensagem|messaggio|lettera|pagina|articolo|testo|texto|bericht|\u043f\u0438\u0441\u044c\u043c\w|\u0441\u0442\u0430\u0442\u044c\w"
    r"|\u0441\u043e\u043e\u0431\u0449\u0435\u043d\u0438\w|\u0442\u0435\u043a\u0441\u0442)\b"
    r"|\u8fd9(?:\u5c01|\u7bc7|\u6761|\u6bb5|\u4e2a)(?:\u90ae\u4ef6|\u4fe1|\u6587\u7ae0|\u6d88\u606f|\u804a\u5929|\u5185\u5bb9|\u7f51\u9875|\u6587\u5b57)"
    r"|\u3053\u306e(?:\u30e1\u30fc\u30eb|\u8a18\u4e8b|\u30da\u30fc\u30b8|\u6587\u7ae0|\u30e1\u30c3\u30bb\u30fc\u30b8|\u8fd4\u4fe1)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedText:
    """The words of a *mail*, a *chat* or a *page*, which is its *kind*."""

    kind: str
    text: str

    @property
    def role(self) -> str:
        """The role of whoever said it: another person, or a tool for a page."""
        return "tool" if self.kind == "page" else "participant"


def split_pasted(text: str, name: str = "") -> tuple[str, PastedText | None]:
    """Return the user's own words of *text*, and what is pasted in it. *name* is the user's, who may sign a draft.

    >>> split_pasted("Is it true?\\n\\nFrom: Eve\\nSubject: Rent\\n\\nWe decided to pay.")[0]
    'Is it true?'
    >>> split_pasted("We decided to pay.\\n\\nPlease book it.")[1] is None
    True
    """
    if "\n" not in text:
        return text, None
    lines = text.split("\n", _MAX_LINES)
    found = min(_starts(lines[:_MAX_LINES], name), default=None)
    if found is None:
        return text, None
    at, kind = found
    before, theirs = "\n".join(lines[:at]).strip(), "\n".join(lines[at:]).strip()
    asked = _last_question(theirs)
    own = "\n\n".join(part for part in (before, asked) if part)
    return own, PastedText(kind=kind, text=theirs.removesuffix(asked).strip() if asked else theirs)


def _last_question(text: str) -> str:
    """Return the last paragraph, or else the last line, if it is one short question and nothing else."""
    for mark in ("\n\n", "\n"):
        rest, found, last = text.rpartition(mark)
        last = last.strip()
        if found and rest.strip() and len(last) <= _MAX_REQUEST_CHARS and _ASKS.search(last):
            return "" if _SENTENCE_INSIDE.search(last) else last
    return ""


def _starts(lines: Sequence[str], name: str) -> Iterator[tuple[int, str]]:
    """Yield the line at which each kind of paste begins."""
    short = [line if len(line) <= _MAX_LINE_CHARS else "" for line in lines]
    for kind, starts in (
        ("mail", (_header(short), _attribution(short), _letter(short, name))),
        ("chat", (_chat(short),)),
    ):
        yield from ((at, kind) for at in starts if at is not None)
    yield from ((at, "page") for at in (_page(short), _supplied(short)) if at is not None)


def _header(lines: Sequence[str]) -> int | None:
    """Return the first of two header lines of a mail that follow each other, or the separator above them."""
    for at, (line, following) in enumerate(itertools.pairwise(lines)):
        one, other = _HEADER.fullmatch(line.lower()), _HEADER.fullmatch(following.lower())
        if one and other and one["label"] != other["label"]:
            above = next((back for back in range(at - 1, max(-1, at - 4), -1) if lines[back].strip()), -1)
            return above if above >= 0 and _SEPARATOR.fullmatch(lines[above]) else at
    return None


def _attribution(lines: Sequence[str]) -> int | None:
    """Return the line that says who wrote what follows, and when."""
    for at, line in enumerate(lines[:-1]):
        stripped = line.strip().lower()
        if not stripped.endswith((":", "\uff1a")) or not (_YEAR.search(stripped) or _TIME.search(stripped)):
            continue
        if _ADDRESS.search(stripped) or _WROTE.search(stripped[:-1]):
            return at
    return None


def _chat(lines: Sequence[str]) -> int | None:
    """Return the first line of a chat: lines that begin with names, of which one comes again, or with times."""
    run: list[tuple[int, str]] = []
    stamped = [at for at, line in enumerate(lines) if _NAME_AND_TIME.fullmatch(line)]
    if len(stamped) > 1:
        return stamped[0]
    named: int | None = None  # the first line that names a text, sought when it is needed
    for at, line in enumerate([*lines, "end"]):
        said = _SAID.fullmatch(line)
        if said and said["name"].casefold() not in _NO_OTHERS and (said["when"] or _is_name(said["name"])):
            run.append((at, ("*" if said["when"] else "") + said["name"]))
        elif line.strip():
            names = {name for _, name in run}
            if len(run) > len(names) > 1 or (len(run) > 1 and all(name.startswith("*") for name in names)):
                return run[0][0]
            if len(names) > 1:
                if named is None:
                    named = next((each for each, above in enumerate(lines) if _names_a_text(above)), len(lines))
                if named < run[0][0] or _names_a_text(line):
                    return run[0][0]
            run = []
    return None


def _is_name(label: str) -> bool:
    return all(word[:1].isupper() or not word[:1].islower() for word in label.split())


def _letter(lines: Sequence[str], name: str) -> int | None:
    """Return the salutation of a letter that somebody else than *name* signs."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    closings = [index for index in range(2, len(filled) - 1) if _closes(lines, filled, index)]
    if not closings:
        return None
    last = closings[-1]
    for index, at in enumerate(filled[: last - 1]):
        if not _SALUTATION.fullmatch(lines[at]) or _SALUTATION.fullmatch(lines[filled[index + 1]]):
            continue
        if lines[at].rstrip().endswith((":", "\uff1a")) and filled[last] - 1 == filled[last - 1]:
            continue  # a heading over a list
        signed = set(lines[filled[last + 1]].casefold().split())
        own_draft = index == 0 and bool(name) and signed <= set(name.casefold().split())
        return None if own_draft else _letterhead(lines, filled[:index], at)
    return None


def _letterhead(lines: Sequence[str], above: Sequence[int], at: int) -> int:
    """Return the first of the short lines above the salutation: names, places and dates."""
    for line in reversed(above):
        if len(lines[line]) > _MAX_HEAD_CHARS or lines[line].rstrip().endswith((":", "\uff1a")):
            break
        if _SENTENCE_END.search(lines[line]) or _names_a_text(lines[line]) or (line == above[0] and at - line > 1):
            break
        at = line
    return at


def _closes(lines: Sequence[str], filled: Sequence[int], index: int) -> bool:
    """Return whether a short line stands behind a sentence, and a name behind it, near the end."""
    body, closing, signature = (lines[filled[each]] for each in (index - 1, index, index + 1))
    if len(closing.split()) > _MAX_CLOSING_WORDS or not _CLOSING.fullmatch(closing):
        return False
    signed = _SIGNATURE.fullmatch(signature) and not _SENTENCE_END.search(signature)
    return bool(signed and _SENTENCE_END.search(body))


def _names_a_text(line: str) -> bool:
    return len(line) <= _MAX_REQUEST_CHARS and _THIS_TEXT.search(line.lower()) is not None


def _supplied(lines: Sequence[str]) -> int | None:
    """Return where a text begins that the first or last short paragraph asks about: "What does this page say?"."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if len(filled) < 2:
        return None
    first = lines[filled[0]]
    asks = _ASKS.search(first) or first.rstrip().endswith((":", "\uff1a"))
    return filled[1] if asks and _names_a_text(first) else None


def _page(lines: Sequence[str]) -> int | None:
    """Return the first line of a page: two kinds of furniture stand in it, such as a trail and a date."""
    kinds: dict[str, int] = {}
    for at, line in enumerate(lines):
        if not line.strip() or _SENTENCE_END.search(line):
            continue
        kind = _furniture(line)
        if kind:
            kinds.setdefault(kind, at)
    if len(kinds) < 2:
        return None
    first = next(at for at, line in enumerate(lines) if line.strip())
    asks = len(lines[first]) <= _MAX_REQUEST_CHARS and first not in kinds.values()
    return first + 1 if asks else first


def _furniture(line: str) -> str:
    if len(line) > _MAX_FURNITURE_CHARS:
        return ""
    lowered = line.lower()
    if _RIGHTS.search(lowered):
        return "rights"
    if _TRAIL.fullmatch(line):
        return "menu" if "|" in line else "trail"
    if len(line) < 80 and (_DATE.search(line) or (_YEAR.search(line) and "\u5e74" in line)):
        return "date"
    return ""
