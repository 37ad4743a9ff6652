"""Features of a candidate: the same words on either side are the same letters in another place."""

from guard.secrets.told.candidates import Candidate, Kind
from guard.secrets.told.features import CONTEXT_BUCKETS, FORM_BUCKETS, TextWords, form_buckets, window_of, word_keys


def test_buckets_are_within_their_tables() -> None:
    assert all(0 <= bucket < FORM_BUCKETS for bucket in form_buckets("Plum!Barn42", Kind.MIXED))
    assert all(0 <= key < CONTEXT_BUCKETS for key in word_keys("passwort").pieces)


def test_a_window_knows_its_sentence() -> None:
    text = "We met. The gate is 4417 now."
    candidate = Candidate(20, 24, Kind.NUMBER)
    window = window_of(TextWords(text, [candidate]), candidate)
    assert window.left[0] == "is"
    assert window.left.index("met") >= window.same_left
    assert (window.right, window.same_right) == (["now"], 1)


def test_words_are_the_same_wherever_the_windows_of_other_candidates_end() -> None:
    text = "我们在2024年把gate密码 改成了 4417, as agreed (see note-7). " * 8
    candidates = [Candidate(at, at + 4, Kind.NUMBER) for at in range(len(text) - 4) if text.startswith("4417", at)]
    together = TextWords(text, candidates)
    for candidate in candidates:
        assert window_of(together, candidate) == window_of(TextWords(text, [candidate]), candidate)


def test_a_cut_run_has_the_words_of_its_rest() -> None:
    words = TextWords("name:value and more", [Candidate(5, 10, Kind.MIXED)])
    assert words.between(0, 5) == ([0], ["name"])
    assert words.between(2, 19)[1] == ["me", "value", "and", "more"]
