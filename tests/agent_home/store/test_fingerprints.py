"""Tests of the fingerprints of what tools and pages said."""

from __future__ import annotations

import time

from agent_home.store.fingerprints import decode_fingerprints, encode_fingerprints, fingerprint

TEXT = "The harbour office in Vigo opens at 7:45 and charges 312 euros for a berth of twelve metres."


def test_a_stored_fingerprint_knows_its_text_and_no_other() -> None:
    (stored,) = decode_fingerprints(encode_fingerprints([fingerprint(TEXT, "salt")]))
    assert stored.share(fingerprint(TEXT, "salt"))[0] == 1
    assert stored.share(fingerprint("Sow the beans after the last frost and water them daily.", "salt"))[0] == 0


def test_without_the_salt_nothing_is_recognised() -> None:
    assert fingerprint(TEXT, "salt").share(fingerprint(TEXT, "other"))[0] == 0


def test_a_long_text_is_sampled_evenly() -> None:
    words = [f"w{number}ord" for number in range(20_000)]
    (stored,) = decode_fingerprints(encode_fingerprints([fingerprint(" ".join(words), "salt")]))
    share, compared = stored.share(fingerprint(" ".join(words[100:400]), "salt"))
    assert share == 1
    assert compared > 3


def test_what_is_stored_is_bounded() -> None:
    found = [fingerprint(" ".join(f"{n}word{number}" for number in range(600)), "salt") for n in range(20)]
    assert len(encode_fingerprints(found)) < 32_000


def test_a_damaged_fingerprint_is_left_out() -> None:
    assert decode_fingerprints("###") == []


def test_time_is_bounded_by_the_part_that_is_read() -> None:
    start = time.process_time()
    blank = "harbour" + "\n" * 60_000 + "(b"
    for text in ("a" * 4_000_000, "A1 " * 1_000_000, "\u4e00" * 2_000_000, "x@" * 1_000_000, blank):
        fingerprint(text, "salt")
    assert time.process_time() - start < 3


def test_a_word_behind_the_end_of_a_sentence_or_line_is_no_name() -> None:
    for end, values in ((". ", 0), ("\n", 0), ("? \n ", 0), (" ", 1), (", ", 1), (". (", 1), ("\n- ", 1)):
        assert len(fingerprint(f"harbour{end}Lisbon", "salt").values) == values
