"""Plain words and phrases told as secrets: where they may stand, and which are the value."""

import pytest

from guard import screen
from guard.secrets.told.words import plain_candidates, plain_regions
from guard.text.canonical import TextVariant

TOLD = {
    "harmonica": "the password is harmonica",
    "Windmühle": "Das Kennwort fürs Archiv ist Windmühle.",
    "coquelicot": "le mot de passe du portail est coquelicot",
    "gabbiano": "la password della rete è gabbiano",
    "grey kettle walks softly": "the new passphrase is grey kettle walks softly",
}


def _values(text: str) -> set[str]:
    regions = plain_regions(TextVariant(text, text))
    return {text[found.start : found.end] for region in regions for found in plain_candidates(region)}


@pytest.mark.parametrize("secret", TOLD)
def test_a_plain_word_or_a_phrase_is_redacted(secret: str) -> None:
    assert secret not in screen(TOLD[secret], "user", "memory").text


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong", "la clave está en el cajón", "wifi password: ask Tom", "please sign in with Google",
        "Das Kennwort ist abgelaufen.", "The passphrase is not stored anywhere.", "the password has to be changed",
        "密码是错的", "パスワードは必須です", "пароль неверный",
    ],
)  # fmt: skip
def test_a_word_about_a_password_stays(text: str) -> None:
    assert screen(text, "user", "memory").text == text


def test_only_words_of_passages_that_may_tell_a_secret_are_candidates() -> None:
    assert _values("We sailed to the island and back.") == set()
    assert "gabbiano" in _values("la password della rete è gabbiano")


def test_a_phrase_ends_with_its_clause_and_a_word_without_spaces_at_a_particle() -> None:
    assert "seven amber goats" in _values("wifi: seven amber goats, all small")
    assert "きりん" in _values("パスワードはきりんです")
    assert "기린" in _values("비밀번호는 기린이야")


def test_a_part_of_a_word_with_digits_is_no_candidate() -> None:
    assert not _values("the password is bluebarn42") & {"bluebarn"}
