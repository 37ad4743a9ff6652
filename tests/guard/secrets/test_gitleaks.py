"""Rule files in gitleaks' format have the meaning that they have in gitleaks."""

import pytest

from guard import Action, GuardError, GuardSettings, RuleError, rules_from_gitleaks, screen
from guard.secrets.credentials import bundled_rules
from guard.text.canonical import TextVariant


def found(toml: str, text: str) -> list[str]:
    """Return the parts of *text* that are secrets by the rules of *toml* alone."""
    rules = rules_from_gitleaks(toml).rules
    return [text[start:end] for rule in rules for start, end in rule.spans(TextVariant(text, text))]


RULE = "[[rules]]\nid = 'toy'\nkeywords = ['toy']\n"


def test_the_secret_is_the_configured_group_or_the_first_group_or_the_match() -> None:
    assert found(RULE + "regex = 'toy=(a)?(\\w+)'", "toy=bcd") == ["bcd"]
    assert found(RULE + "regex = '(toy)=(\\w+)'\nsecretGroup = 2", "toy=bcd") == ["bcd"]
    assert found(RULE + "regex = 'toy=\\w+'", "toy=bcd") == ["toy=bcd"]


def test_a_rule_runs_only_when_the_text_has_a_keyword_in_any_case() -> None:
    settings = GuardSettings(loaded=(rules_from_gitleaks(RULE + "regex = '(?i)(?:toy|doll)-[0-9]{6}'"),))
    assert screen("TOY-123456", "user", "memory", settings=settings).text == "[REDACTED:toy]"
    assert screen("doll-123456", "user", "memory", settings=settings).findings == ()


def test_entropy_is_an_exclusive_minimum() -> None:
    toml = RULE + "regex = 'toy=(\\w+)'\nentropy = 2.0"
    assert found(toml, "toy=abcd") == []
    assert found(toml, "toy=abcde") == ["abcde"]


@pytest.mark.parametrize(
    ("table", "dropped"),
    [
        ("regexes = ['^ab']", True),
        ("regexes = ['=ab']", False),
        ("regexes = ['=ab']\nregexTarget = 'match'", True),
        ("regexes = ['fixture']", False),
        ("regexes = ['fixture']\nregexTarget = 'line'", True),
        ("stopwords = ['BCD']", True),
        ("stopwords = ['xyz']", False),
        ("regexes = ['^ab']\nstopwords = ['xyz']", True),
        ("condition = 'AND'\nregexes = ['^ab']\nstopwords = ['xyz']", False),
        ("condition = 'AND'\nregexes = ['^ab']\nstopwords = ['bcd']", True),
        ("condition = 'AND'\nregexes = ['^ab']\npaths = ['tests/']", False),
    ],
)
@pytest.mark.parametrize("place", ["[[rules.allowlists]]", "[rules.allowlist]", "[[allowlists]]", "[allowlist]"])
def test_allowlists_drop_what_they_cover(table: str, place: str, dropped: bool) -> None:
    rule = RULE + "regex = 'toy=(\\w+)'\n"
    own = place.startswith(("[[rules", "[rules"))
    toml = f"{rule}{place}\n{table}" if own else f"{place}\n{table}\n{rule}"
    assert found(toml, "a fixture toy=abcd1") == ([] if dropped else ["abcd1"])


def test_generic_rules_require_a_digit() -> None:
    toml = "[[rules]]\nid = 'generic-api-key'\nregex = 'key=(\\w+)'\nkeywords = ['key']"
    assert found(toml, "key=abcdef key=abcde1") == ["abcde1"]


@pytest.mark.parametrize(
    ("expression", "dropped"),
    [
        ('entropy(finding["secret"]) <= 3.0', True),
        ('entropy(finding["secret"]) <= 1.0', False),
        ('!matchesAny(finding["secret"], [`^z`])', True),
        ('containsAny(finding["secret"], ["BC", "bc",])', True),
        ('len(finding["secret"]) >= 5 && matchesAny(finding["match"], [`toy`])', True),
        ('failsTokenEfficiency(finding["secret"]) || matchesAny(finding["secret"], ["^ab"])', True),
        ('failsTokenEfficiency(finding["secret"])', False),
        ('!failsTokenEfficiency(finding["secret"])', False),
        ('failsTokenEfficiency(finding["secret"]) && matchesAny(finding["secret"], ["^ab"])', False),
        ('!matchesAny((attributes["path"] ?? ""), ["config"])', False),
        ('let near = finding["raw"][0:5]; containsAny(near, ["toy"]) || entropy(finding["secret"]) < 9', True),
        ("this is (no expression", False),
    ],
)
def test_a_filter_drops_what_it_is_known_to_drop(expression: str, dropped: bool) -> None:
    toml = RULE + f"regex = 'toy=(\\w+)'\nfilter = '''\n// why\n{expression}\n'''"
    assert found(toml, "toy=abcd1") == ([] if dropped else ["abcd1"])


def test_one_part_of_a_pair_counts_when_it_could_be_a_secret() -> None:
    toml = RULE + "regex = 'toy=(\\S+)'\nskipReport = true"
    assert found(toml, "toy=https://toys.test/12345 toy=shop toy=a1b2c3d4e5f6") == ["a1b2c3d4e5f6"]


@pytest.mark.parametrize(
    "text", ["not = [toml", "rules = 3", "[[rules]]\nregex = 'a'", RULE + "regex = 7", RULE + "regex='a'\nentropy='x'"]
)
def test_an_invalid_rule_file_is_an_error_of_one_line(text: str) -> None:
    with pytest.raises(GuardError) as caught:
        rules_from_gitleaks(text)
    assert isinstance(caught.value, RuleError)
    assert "\n" not in str(caught.value)


def test_the_same_text_is_read_once() -> None:
    assert rules_from_gitleaks(RULE + "regex = 'x'") is rules_from_gitleaks(RULE + "regex = 'x'")


@pytest.mark.parametrize(
    ("reason", "rule"),
    [
        ("invalid perl operator: (?=", "regex = '(?=toy)'"),
        ("missing ): (", "regex = 'toy'\nallowlists = [{ regexes = ['('] }]"),
        (
            "invalid repetition size: {2000}",
            "regex = 'toy'\nfilter = 'matchesAny(finding[\"match\"], [`a`, `b{2000}`])'",
        ),
    ],
)
def test_check_names_the_rule_and_the_reason_of_a_pattern_that_does_not_compile(reason: str, rule: str) -> None:
    rules = rules_from_gitleaks(RULE + rule)
    with pytest.raises(RuleError) as caught:
        rules.check()
    assert (caught.value.rule, caught.value.reason) == ("toy", reason)


def test_every_bundled_rule_compiles_has_keywords_and_its_own_id() -> None:
    rules = bundled_rules()
    rules.check()
    assert len({rule.name for rule in rules.rules}) == len(rules.rules) > 150
    for rule in rules.rules:
        assert rule.keywords
        assert rule.keywords == tuple(keyword.lower() for keyword in rule.keywords)


def test_loaded_rules_work_beside_the_bundled_ones() -> None:
    settings = GuardSettings(loaded=(rules_from_gitleaks(RULE + "regex = 'toy-[0-9]{6}'"),))
    text = "toy-123456 and ghp_" + "a1B2c3D4e5" * 4
    assert screen(text, "user", "memory", settings=settings).text == "[REDACTED:toy] and [REDACTED:github_token]"
    assert screen("toy-123456", "user", "memory").action is Action.ALLOW
