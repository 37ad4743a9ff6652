"""Own the languages of the page. English texts are the keys of the catalogue of each other language."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files

from markupsafe import Markup, escape

__all__ = ["LANGUAGES", "Translate", "chosen_language", "translation"]

#: Code and own name of each language. The first is the default.
LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "中文"}

#: Returns an English text in the language of the page, with named values put into it.
Translate = Callable[..., str]


def chosen_language(cookie: str, accepted: str) -> str:
    """Return the language that a person chose, else the first one of the header ``Accept-Language`` that is known."""
    if cookie in LANGUAGES:
        return cookie
    wanted = (part.partition(";")[0].strip().partition("-")[0].casefold() for part in accepted.split(","))
    return next((code for code in wanted if code in LANGUAGES), next(iter(LANGUAGES)))


def translation(language: str) -> Translate:
    """Return the function that translates into *language*. A text that the catalogue lacks stays English.

    Values are escaped, so that the result can stand in HTML.
    """
    words = _catalogue(language)

    def translate(text: str, /, **values: object) -> str:
        said = words.get(text, text)
        if not values:
            return said
        # The text is one of ours, from a template or the catalogue. Only the values are foreign.
        return Markup(said).format(**{name: escape(value) for name, value in values.items()})  # noqa: S704

    return translate


@cache
def _catalogue(language: str) -> Mapping[str, str]:
    if language == next(iter(LANGUAGES)):
        return {}
    text = files(__package__).joinpath("words", f"{language}.json").read_text("utf-8")
    found: dict[str, str] = json.loads(text)
    return found
