"""Secrets told in sentences without their usual name, in any language, as the trained model finds them."""

import pytest

from guard import screen
from guard.secrets.told import model

TOLD = {
    "Wren!Lantern58": "you get into the booking site with nora and then Wren!Lantern58",
    "pebble-canoe-73": "The guest network is Fernhill, just type pebble-canoe-73 when it asks.",
    "Ziegel_Fink27": "Das Archiv geht mit Ziegel_Fink27 auf.",
    "Cerise!46": "À partir de mardi on met Cerise!46 à la place de l'ancien.",
    "Mirlo_norte38": "El comprimido se abre con Mirlo_norte38",
    "Sparviero!31": "Da oggi si usa Sparviero!31, quella vecchia è scaduta.",
    "Snegir_27": "Архив открывается на Snegir_27",
    "panda!Hong52": "那个压缩包用 panda!Hong52 解开",
    "tsubame_Ao47": "あのzipは tsubame_Ao47 で開きます",
}


@pytest.mark.parametrize("secret", TOLD)
def test_a_secret_without_its_usual_name_is_redacted(secret: str) -> None:
    assert secret not in screen(TOLD[secret], "user", "memory").text


@pytest.mark.parametrize(
    "text",
    [
        "The train to Basel is ICE 1523, coach 9.", "The brand green is #42fab1.", "We run version 2.14.3-rc1.",
        "Ihre Bestellung 4711-88 kommt am Donnerstag.", "Le vol AF1128 part de la porte B17.",
        "My mother's well-known recipe needs 250 g of flour.", "订单 4471-K 周四到。", "I was born in 1986.",
    ],
)  # fmt: skip
def test_other_numbers_and_names_stay(text: str) -> None:
    assert screen(text, "user", "memory").text == text


@pytest.mark.parametrize(
    "text",
    [
        "umber-maple-33 was copied to the other disk.",
        "The report on fjord-krill-7 is late.",
        "Let us look at quartz-heron-12 today.",
    ],
)
def test_names_of_machines_and_projects_stay(text: str) -> None:
    """The second reading alone took one in fifteen such names for a secret."""
    assert screen(text, "user", "memory").text == text


def test_screening_a_told_secret_twice_changes_nothing() -> None:
    once = screen(TOLD["Wren!Lantern58"], "user", "memory").text
    assert screen(once, "user", "memory").text == once


@pytest.mark.parametrize(
    "text",
    [
        "- **[RC-AAAA]** 2026-11-20 The boy avoids groundnuts.\n  Sources: s1#m1\n",
        "- **[RC-AAAA]** 2026-11-20 We sail.\n  Supersedes: KD-7F3A\n  Sources: Kestrel-9#t!4, x#y2\n",
        "a,b\n" * 300 + "Blue Heron,1\n",
    ],
)
def test_an_address_a_field_and_a_cell_of_a_table_are_no_secrets(text: str) -> None:
    assert screen(text, "user", "memory").text == text


def test_a_secret_beside_a_field_is_found() -> None:
    text = "The wifi password of the boat is Plum!Barn42.\n  Sources: s1#m1\n"
    stored = screen(text, "user", "memory").text
    assert "Plum" not in stored
    assert stored.endswith("\n  Sources: s1#m1\n")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("le coffre de mamie s'ouvre avec coquillage", ["coquillage"]),
        ("guest wifi lets you on with pumpkin soup", ["pumpkin soup"]),
        ("our vault: Marlin then a dot then Kestrel and 58 to finish", ["Kestrel", "58"]),
    ],
)
def test_the_second_reading_finds_what_the_linear_models_only_suspect(
    text: str, parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(part in screen(text, "user", "memory").text for part in parts)
    monkeypatch.setattr(model, "told_reader", lambda: None)
    assert any(part in screen(text, "user", "memory").text for part in parts)


def test_other_numbers_beside_a_secret_stay() -> None:
    text = "the wifi password is BlueHeron_5G and the meeting is in room 12 at 14"
    assert screen(text, "user", "memory").text.endswith("and the meeting is in room 12 at 14")
