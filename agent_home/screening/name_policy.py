"""Judge the names of files and folders, which stand in prompts, in hits and in reports beside the texts.

Nobody reviews a name as they review a text, and whoever can add a file can choose it. So instructions in a name count
as those of a web page. A person's own names may have e-mail addresses and telephone numbers, as their texts may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from .personal_text import LocatedFinding, PersonalTextJudge, located

__all__ = ["findings_in_name"]

_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z0-9]{1,5}\Z")
_JOINTS = re.compile(r"[\W_]+")


def findings_in_name(judge: PersonalTextJudge, path: str, *, own: bool) -> tuple[LocatedFinding, ...]:
    """Return what keeps the names in *path* from readers, secrets first.

    *own* names are those of the home's owner. Personal data that others put into a name counts whatever it is.
    """
    parts = PurePosixPath(path).parts
    names = dict.fromkeys(name for part in parts for name in (part, _SUFFIX.sub("", part)))
    found = [place for name in names for place in _places(judge, path, name, own=own) if place.removes_words]
    # The names below the first folder may be one sentence. Values count in one name alone: joined ones prove nothing.
    sentence = _JOINTS.sub(" ", _SUFFIX.sub("", "/".join(parts[1:] or parts))).strip()
    found += [place for place in _places(judge, path, sentence, own=own) if place.held_back]
    return tuple(sorted(dict.fromkeys(found), key=lambda place: place.layer != "secret"))


def _places(judge: PersonalTextJudge, path: str, text: str, *, own: bool) -> Iterator[LocatedFinding]:
    return (located(path, 1, finding) for finding in judge.name_verdict(text, own=own).findings)
