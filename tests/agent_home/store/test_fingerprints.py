"""Tests of the fingerprints of what tools and pages said."""

from __future__ import annotations

import time

from agent_home.store.fingerprints import decode_fingerprints, encode_fingerprints, fingerprint, fingerprints_of_parts

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
    assert len(encode_fingerprints(found)) < 20 * 28_000


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


def test_a_sentence_in_the_middle_of_a_long_page_is_recognised() -> None:
    """Before, only the beginning and the end of a page were read, and 512 pairs of it were kept."""
    page = " ".join(f"word{number}" for number in range(10_000))
    parts = fingerprints_of_parts(f"{page}. {TEXT} {page}", "salt")
    stored = decode_fingerprints(encode_fingerprints(parts))
    shares = [each.share(fingerprint(TEXT, "salt")) for each in stored]
    assert any(share > 0.9 and compared >= 3 for share, compared in shares)


def test_a_sentence_among_many_results_is_recognised() -> None:
    results = [TEXT, *(" ".join(f"{n}word{number}" for number in range(200)) for n in range(60))]
    stored = decode_fingerprints(encode_fingerprints([fingerprint(text, "salt") for text in results]))
    share, compared = stored[0].share(fingerprint(TEXT, "salt"))
    assert share == 1
    assert compared >= 3


def test_what_was_stored_without_a_limit_is_read_as_a_sample() -> None:
    old = ".".join(encode_fingerprints([fingerprint(TEXT, "salt")]).split(".")[:2])
    assert decode_fingerprints(old)[0].share(fingerprint(TEXT, "salt"))[0] == 1
