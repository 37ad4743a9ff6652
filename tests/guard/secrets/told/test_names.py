"""Names beside a candidate for a told secret."""

from guard.secrets.told.candidates import Candidate, Kind
from guard.secrets.told.names import name_features, told_candidates


def _features(text: str, value: str) -> set[str]:
    start = text.index(value)
    return set(name_features(text, Candidate(start, start + len(value), Kind.NUMBER)))


def test_the_nearest_name_is_the_same_in_two_languages() -> None:
    english = _features("my username is 4417", "4417")
    german = _features("Mein Benutzername: 4417", "4417")
    assert "name nearest nL7" in english & german


def test_a_text_without_names_has_no_nearest_one() -> None:
    assert {"name nearest nL", "name nearest nR"} <= _features("we met 4417 people", "4417")


def test_distance_counts_in_steps() -> None:
    assert _features("pin 4417", "4417") != _features("pin, as far as I can remember it today: 4417", "4417")


def test_short_numbers_are_candidates_only_near_what_opens_something() -> None:
    def short(text: str) -> list[str]:
        return [text[found.start : found.end] for found in told_candidates(text) if found.kind == Kind.SHORT]

    assert short("the safe: first 14, then 70") == ["14", "70"]
    assert short("the recipe: first 14, then 70") == []
    assert short("the safe opens at 14:30, costs 20 € and weighs 12%") == []
