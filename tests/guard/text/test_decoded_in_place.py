"""Encoded values are decoded where they stand, and strings that code joins become one."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.text.canonical import TextVariant
from guard.text.decoded_in_place import decode_in_place


def decoded(text: str) -> str:
    found = decode_in_place(TextVariant(text, text))
    return text if found is None else found.text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("it is TGlnaHRob3VzZSE0NDI= today", "it is Lighthouse!442 today"),
        ("twice: VEdsbmFIUm9iM1Z6WlNFME5EST0=", "twice: Lighthouse!442"),
        ("hex 53706172726f77244e65737437 ok", "hex Sparrow$Nest7 ok"),
        ("spaced 50 72 31 6D 72 6F 73 65", "spaced Pr1mrose"),
        ("colons 37:30:35:31:38:32:36:34", "colons 70518264"),
        ("array { 0x7a, 0x62, 0x37, 0x51, 0x2d }", "array { zb7Q- }"),
        ("\\x42\\x75\\x74\\x74\\x6f\\x6e\\x37", "Button7"),
        ("Gatt&#x6f;&#x33;&#57; here", "Gatto39 here"),
        ("Monta%C3%B1a%2F2026", "Montaña/2026"),
        ("=4E=65=74=74=6C=65=21", "Nettle!"),
        ("JBSXE33OEE2TKMJZ", "Heron!5519"),
        ('k = "pk_9f" + "Lm03" + "Rb77";', 'k = "pk_9fLm03Rb77";'),
        ('"".join(["xoq-", "ZbTn"])', '"".join(["xoq-ZbTn"])'),
        ("export K=q7Vn2K\\\nbJm4Zc", "export K=q7Vn2KbJm4Zc"),
    ],
)  # fmt: skip
def test_a_value_is_decoded_in_its_sentence(text: str, plain: str) -> None:
    assert decoded(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "An ordinary sentence about a lighthouse.",
        "commit 3f9c2e1aa07b44d1c0ffee1234567890abcdef12",
        "the password was changed, the keys were handed over",
        "2026-11-28 12:30:45",
        "internationalization of documentation",
    ],
)
def test_what_encodes_nothing_stays(text: str) -> None:
    assert decoded(text) == text


def test_a_place_in_the_value_is_the_whole_run() -> None:
    text = "pass TGlnaHRob3VzZSE0NDI= end"
    found = decode_in_place(TextVariant(text, text))
    assert found is not None
    start = found.text.index("house")
    assert text[slice(*found.span(start, start + 5))] == "TGlnaHRob3VzZSE0NDI="
    assert text[slice(*found.span(found.text.index("end"), len(found.text)))] == "end"


@given(
    st.lists(st.one_of(st.text(max_size=20), st.binary(max_size=12).map(lambda raw: base64.b64encode(raw).decode())))
)
def test_every_place_maps_into_the_source(parts: list[str]) -> None:
    text = " ".join(parts)
    found = decode_in_place(TextVariant(text, text))
    for place in range(len(found.text) if found else 0):
        start, end = found.span(place, place + 1) if found else (0, 0)
        assert 0 <= start < end <= len(text)


@pytest.mark.parametrize(
    "shape",
    [
        "a",
        "A1b2",
        "%41a",
        "\\x41",
        "&#65;",
        "=41",
        "0x41, ",
        "41 ",
        "aA1-",
        "'a' + ",
        "'a' . 'b'",
        "ab\\\n",
        "a1\n",
        "%4",
    ],
)
def test_time_grows_with_the_length(shape: str) -> None:
    def seconds(length: int) -> float:
        text = (shape * (length // len(shape) + 1))[:length]
        variant = TextVariant(text, text)
        begun = time.thread_time()
        decode_in_place(variant)
        return time.thread_time() - begun

    seconds(100)
    short, long = min(seconds(20_000) for _ in range(3)), min(seconds(80_000) for _ in range(3))
    assert long < 8 * short + 0.05
