"""Test bearer tokens: what is stored of them, and which record of them is believed."""

from __future__ import annotations

import json
import re
import shutil
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.cli.commands.token import SCOPES as SCOPES_OF_THE_COMMAND
from interfaces.service.http.tokens import (
    SCOPES,
    NoSuchToken,
    TokenInvalid,
    add_token,
    find_token,
    remove_token,
    tokens,
)


def record(home: Home) -> Path:
    return home.machine / "tokens.json"


def test_the_scopes_of_the_command_are_those_of_tokens() -> None:
    assert SCOPES_OF_THE_COMMAND == SCOPES


def test_a_token_is_found_with_its_name_scopes_and_audience(home: Home, now: datetime) -> None:
    made = add_token(home, "pod", scopes=("write", "read"), audience="job", now=now)
    found = find_token(home, made)
    assert found is not None
    assert (found.name, found.scopes, found.audience) == ("pod", ("read", "write"), "job")
    assert tokens(home) == [found]


def test_a_token_has_256_random_bits_and_a_prefix_that_scanners_know(home: Home, now: datetime) -> None:
    made = [add_token(home, f"t{number}", scopes=("read",), audience="job", now=now) for number in range(3)]
    assert len(set(made)) == 3
    assert all(re.fullmatch(r"ah_[A-Za-z0-9_-]{43}", token) for token in made)


def test_only_a_digest_is_stored_anywhere_in_the_home(home: Home, now: datetime) -> None:
    made = add_token(home, "pod", scopes=("read",), audience="job", now=now)
    secret = made.removeprefix("ah_").encode()
    files = [path for path in home.root.rglob("*") if path.is_file()]
    assert record(home) in files
    assert [path for path in files if secret in path.read_bytes()] == []


def test_the_record_may_be_read_by_its_owner_alone_and_is_not_in_the_work_tree(home: Home, now: datetime) -> None:
    add_token(home, "pod", scopes=("read",), audience="job", now=now)
    assert stat.S_IMODE(record(home).stat().st_mode) == 0o600
    assert ".git" in record(home).relative_to(home.root).parts


@pytest.mark.parametrize("given", ["", " ", "ah_", "pod", "ah_" + "A" * 43, "\ud800", "ü" * 1000, "a\0b"])
def test_what_is_no_token_is_not_found(home: Home, now: datetime, given: str) -> None:
    made = add_token(home, "pod", scopes=("read",), audience="job", now=now)
    assert find_token(home, given) is None
    assert find_token(home, made + given) is None or given == ""
    assert find_token(home, made[:-1]) is None


def test_a_digest_of_the_record_is_no_token(home: Home, now: datetime) -> None:
    add_token(home, "pod", scopes=("read",), audience="job", now=now)
    (token,) = tokens(home)
    assert find_token(home, token.digest) is None


@pytest.mark.parametrize("name", ["", " ", "a b", "../x", "-x", ".x", "a\n", "a/b", "x" * 65, "Ünder", "\ud800"])
def test_an_unusable_name_is_refused(home: Home, now: datetime, name: str) -> None:
    with pytest.raises(TokenInvalid):
        add_token(home, name, scopes=("read",), audience="job", now=now)
    assert tokens(home) == []


@pytest.mark.parametrize("scopes", [(), ("admin",), ("read", "admin")])
def test_an_unknown_scope_is_refused(home: Home, now: datetime, scopes: Sequence[str]) -> None:
    with pytest.raises(TokenInvalid, match="Known scopes"):
        add_token(home, "pod", scopes=scopes, audience="job", now=now)


@pytest.mark.parametrize("audience", ["", "everybody", "Owner"])
def test_an_unknown_audience_is_refused(home: Home, now: datetime, audience: str) -> None:
    with pytest.raises(TokenInvalid, match="Known audiences"):
        add_token(home, "pod", scopes=("read",), audience=audience, now=now)


def test_a_name_is_given_once_and_the_first_token_stays(home: Home, now: datetime) -> None:
    first = add_token(home, "pod", scopes=("read",), audience="job", now=now)
    with pytest.raises(TokenInvalid, match="there is a token 'pod'"):
        add_token(home, "pod", scopes=("read",), audience="owner", now=now)
    found = find_token(home, first)
    assert found is not None
    assert found.audience == "job"


def test_a_removed_token_is_not_found_and_the_others_are(home: Home, now: datetime) -> None:
    gone, kept = (add_token(home, name, scopes=("read",), audience="job", now=now) for name in ("gone", "kept"))
    remove_token(home, "gone")
    assert find_token(home, gone) is None
    assert find_token(home, kept) is not None


def test_removing_an_unknown_token_names_the_known_ones(home: Home, now: datetime) -> None:
    add_token(home, "pod", scopes=("read",), audience="job", now=now)
    with pytest.raises(NoSuchToken, match="Known tokens: pod"):
        remove_token(home, "pot")


def test_tokens_made_at_once_are_all_kept(home: Home, now: datetime) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: add_token(home, f"t{n}", scopes=("read",), audience="job", now=now), range(8)))
    assert {token.name for token in tokens(home)} == {f"t{number}" for number in range(8)}
    assert all(find_token(home, token) for token in made)


def test_a_record_with_another_scope_written_into_it_has_no_tokens(home: Home, now: datetime) -> None:
    made = add_token(home, "pod", scopes=("read",), audience="job", now=now)
    row = json.loads(record(home).read_text())
    row["record"]["tokens"][0]["audience"] = "owner"
    record(home).write_text(json.dumps(row))
    assert tokens(home) == []
    assert find_token(home, made) is None


def test_a_record_of_another_machine_has_no_tokens(
    home: Home, now: datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = add_token(home, "pod", scopes=("read",), audience="job", now=now)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AGENT_HOME_STATE", str(tmp_path / "another machine"))
        assert tokens(home) == []
        assert find_token(home, made) is None
    assert find_token(home, made) is not None


def test_a_copy_of_a_home_has_no_tokens(home: Home, now: datetime, tmp_path: Path) -> None:
    made = add_token(home, "pod", scopes=("read",), audience="job", now=now)
    copy = Home(Path(shutil.copytree(home.root, tmp_path / "copy")))
    assert record(copy).exists()
    assert find_token(copy, made) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"record": {"tokens": []}}', b"[" * 100_000])
def test_a_damaged_record_has_no_tokens(home: Home, now: datetime, content: bytes) -> None:
    add_token(home, "pod", scopes=("read",), audience="job", now=now)
    record(home).write_bytes(content)
    assert tokens(home) == []
    assert add_token(home, "pod", scopes=("read",), audience="job", now=now), "a new one can be made"


def test_a_token_that_could_do_nothing_is_refused(home: Home, now: datetime) -> None:
    with pytest.raises(TokenInvalid, match="only the owner sees what waits"):
        add_token(home, "reviewer", scopes=("review",), audience="job", now=now)


@pytest.mark.parametrize("name", ["bot1234", "99999", "a" * 25, "bot-", "1.", "x__________________________________y"])
def test_two_tokens_of_others_are_never_shown_by_one_name(home: Home, now: datetime, name: str) -> None:
    with pytest.raises(TokenInvalid):
        add_token(home, name, scopes=("write",), audience="job", now=now)
    add_token(home, "pod-7", scopes=("write",), audience="job", now=now)
    with pytest.raises(TokenInvalid):
        add_token(home, "Pod-7", scopes=("write",), audience="group", now=now)
