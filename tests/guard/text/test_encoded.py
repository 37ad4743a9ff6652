"""Encoded secrets and attacks are found, and the whole encoded run is replaced."""

import base64
import gzip
import zlib
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard import Action, screen
from guard.text.canonical import text_variants
from guard.text.encoded import decode_runs

KEY = "ghp_" + "a1B2c3D4e5" * 4

ENCODED = {
    "base64": base64.b64encode(f"the deploy uses {KEY}".encode()).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(f"??>> deploy {KEY}".encode()).decode().rstrip("="),
    "hex": f"token {KEY}".encode().hex(),
    "percent": quote(f"token = {KEY}; next", safe="").replace("_", "%5F"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_an_encoded_secret_is_replaced_with_its_whole_run(name: str) -> None:
    verdict = screen(f"fixture {ENCODED[name]} end", "user", "memory")
    assert verdict.action is Action.REDACT
    assert verdict.text == "fixture [REDACTED:github_token] end"


@pytest.mark.parametrize(
    "text",
    [
        "integrity sha512-" + base64.b64encode(bytes(range(64))).decode(),
        "commit ac3478d69a3c81fa62e60f5c3696165a4e5e6ac4",
        "sha256:5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
        "payload " + base64.b64encode(b"hello world, nothing to see here").decode(),
        "https://example.org/a%20page%20with%20spaces%20in%20its%20name",
    ],
)
def test_encoded_text_without_a_secret_passes(text: str) -> None:
    assert screen(text, "user", "memory").action is Action.ALLOW


LAYERED = {
    "base64 twice": base64.b64encode(ENCODED["base64"].encode()).decode(),
    "gzip": base64.b64encode(gzip.compress(f"token {KEY}".encode())).decode(),
    "zlib": base64.b64encode(zlib.compress(f"token {KEY}".encode())).decode(),
    "base32": base64.b32encode(f"token {KEY}".encode()).decode(),
    "spaced hex": f"token {KEY}".encode().hex(" "),
    "entities": "".join(f"&#{ord(sign)};" for sign in f"token {KEY}"),
    "escapes": "".join(f"\\u{ord(sign):04x}" for sign in f"token {KEY}"),
    "quoted-printable": "".join(f"={byte:02X}" for byte in f"token {KEY}".encode()),
    "percent twice": quote("".join(f"%{byte:02X}" for byte in f"token {KEY}".encode())),
}


@pytest.mark.parametrize("name", LAYERED)
def test_a_secret_in_several_layers_is_replaced(name: str) -> None:
    assert screen(LAYERED[name], "user", "memory").text == "[REDACTED:github_token]"


def test_a_compression_bomb_unpacks_to_a_bounded_text() -> None:
    bomb = base64.b64encode(gzip.compress(b"a" * 20_000_000)).decode()
    decoded = decode_runs(text_variants(bomb)[0])
    assert decoded is not None
    assert len(decoded.text) <= 65_536


def test_four_layers_are_not_decoded() -> None:
    text = f"token {KEY}"
    for _ in range(4):
        text = base64.b64encode(text.encode()).decode()
    assert screen(text, "user", "memory").action is Action.ALLOW


@given(st.text(min_size=8, max_size=60), st.text(alphabet="ab ", max_size=10))
def test_a_decoded_position_maps_to_its_run(text: str, before: str) -> None:
    code = base64.b64encode(f"known {text} known".encode("utf-8", "replace")).decode()
    whole = f"{before} {code} after"
    inner = decode_runs(text_variants(whole)[0])
    if inner is not None:
        assert whole[slice(*inner.span(0, len(inner.text)))].rstrip("=") == code.rstrip("=")
