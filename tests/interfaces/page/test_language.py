"""The page speaks the languages that it names, and values in its sentences stay text."""

from __future__ import annotations

import json
from string import Formatter

import pytest

from interfaces.page.language import LANGUAGES, chosen_language, translation
from tests.interfaces.page.page_texts import PAGE, named_texts, template_texts, written_texts


@pytest.mark.parametrize(
    ("cookie", "accepted", "language"),
    [
        ("", "", "en"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "fr-FR, ZH-Hant;q=0.5", "zh"),
        ("", "de, fr", "en"),
        ("", "en-GB, zh", "en"),
        ("zh", "en", "zh"),
        ("en", "zh", "en"),
        ("xx", "zh", "zh"),
        ("../zh", "", "en"),
        ("", ";;,,--,\0", "en"),
        ("", "zh" * 100_000, "en"),
    ],
    ids=lambda value: value[:20],
)
def test_the_language_is_the_chosen_one_or_the_first_known_one(cookie: str, accepted: str, language: str) -> None:
    assert chosen_language(cookie, accepted) == language


def test_values_in_a_sentence_are_escaped() -> None:
    for language in LANGUAGES:
        said = translation(language)("Change of {path}", path="<b>{when}</b>")
        assert "&lt;b&gt;{when}&lt;/b&gt;" in said
        assert "<" not in said


def test_a_text_without_a_translation_stays_english() -> None:
    for language in LANGUAGES:
        assert translation(language)("No such text {x}") == "No such text {x}"


def test_every_language_names_itself() -> None:
    assert LANGUAGES["en"] == "English"
    assert all(LANGUAGES.values())


@pytest.fixture(scope="module")
def texts() -> set[str]:
    """Every text that the page translates."""
    return {*template_texts(), *written_texts(), *named_texts()}


def catalogue(language: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((PAGE / "words" / f"{language}.json").read_text("utf-8"))
    return found


OTHERS = [language for language in LANGUAGES if language != "en"]


def test_texts_are_found_in_templates_and_code() -> None:
    assert {"Accept", "Memory as it was at {when}", "{n} more"} <= set(template_texts())
    assert "There is no such file." in set(written_texts())
    assert {"quarantine", "high", "Key Decisions"} <= set(named_texts())


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_has_a_translation(texts: set[str], language: str) -> None:
    assert sorted(texts - set(catalogue(language))) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_values_of_its_text_and_no_markup(language: str) -> None:
    for text, said in catalogue(language).items():
        assert said.strip(), text
        assert sorted(_values(said)) == sorted(_values(text)), text
        assert not set("<>&") & set(said), text


@pytest.mark.parametrize("language", OTHERS)
def test_the_catalogue_is_in_order_without_texts_given_twice(language: str) -> None:
    pairs = json.loads((PAGE / "words" / f"{language}.json").read_text("utf-8"), object_pairs_hook=list)
    keys = [key for key, _ in pairs]
    assert keys == sorted(set(keys))


def _values(text: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(text) if name is not None]
