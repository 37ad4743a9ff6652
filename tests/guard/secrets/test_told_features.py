"""Features of a candidate: the same words on either side are the same letters in another place."""

from guard.secrets.told_candidates import Candidate, Kind
from guard.secrets.told_features import CONTEXT_BUCKETS, FORM_BUCKETS, form_buckets, window_of, word_keys


def test_buckets_are_within_their_tables() -> None:
    assert all(0 <= bucket < FORM_BUCKETS for bucket in form_buckets("Plum!Barn42", Kind.MIXED))
    assert all(0 <= key < CONTEXT_BUCKETS for key in word_keys("passwort").pieces)


def test_a_window_knows_its_sentence() -> None:
    text = "We met. The gate is 4417 now."
    window = window_of(text, Candidate(20, 24, Kind.NUMBER))
    assert window.left[0] == ("is", True)
    assert ("met", False) in window.left
    assert window.right == [("now", True)]
