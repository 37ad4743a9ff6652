"""Wallet phrases of the published word lists, whole and near."""

import pytest
from mnemonic import Mnemonic

from guard import screen
from guard.secrets.seed_phrases import has_checksum


def phrase(language: str, strength: int = 128) -> str:
    return Mnemonic(language).to_mnemonic(bytes(range(7, 7 + strength // 8)))


ENGLISH = phrase("english").split()
TOLD = {
    "bare": " ".join(ENGLISH),
    "24 words": phrase("english", 256),
    "numbered": "\n".join(f"{number}. {word}" for number, word in enumerate(ENGLISH, 1)),
    "bullets": "\n".join(f"- {word}" for word in ENGLISH),
    "misspelt": "recovery phrase of my wallet: " + " ".join([*ENGLISH[:5], "misteka", *ENGLISH[6:]]),
    "one missing": "seed phrase: " + " ".join(ENGLISH[:11]),
    **{name: phrase(name) for name in ("spanish", "french", "italian", "portuguese", "japanese", "korean", "czech")},
    "chinese": phrase("chinese_simplified"),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_wallet_phrase_is_redacted(name: str) -> None:
    assert "[REDACTED:seed_phrase]" in screen(TOLD[name], "user", "memory").text


@pytest.mark.parametrize(
    "text",
    [
        "abandon ability able about above absent absorb abstract absurd abuse access accident account accuse achieve",
        "Next week Anna will travel with three friends through northern Italy before returning home again late Sunday",
        "My wallet was brown leather with seven card pockets and I lost it near the big train station last winter.",
    ],
)
def test_prose_and_excerpts_of_the_list_pass(text: str) -> None:
    assert screen(text, "user", "memory").text == text


def test_the_checksum_tells_phrases_from_other_listed_words() -> None:
    assert has_checksum(ENGLISH)
    assert not has_checksum([*ENGLISH[1:], ENGLISH[0]])


@pytest.mark.parametrize("noise", ["─" * 60 + " ", "🙂🙂 ", "中文字" * 12 + " ", "«» — ", "é" * 31 + " "])
def test_a_phrase_behind_other_signs_is_found_at_its_place(noise: str) -> None:
    phrase_text = " ".join(ENGLISH)
    text = noise * 20 + "\n\n" + phrase_text + ". Ende"
    screened = screen(text, "user", "memory").text
    assert screened == noise * 20 + "\n\n[REDACTED:seed_phrase]. Ende"
