"""The page speaks the languages that it names, and values in its sentences stay text."""

from __future__ import annotations

import pytest

from interfaces.page.language import LANGUAGES, chosen_language, translation


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
