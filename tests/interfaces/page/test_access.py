"""A link signs one person in, once and for a quarter of an hour, and what the disk holds signs nobody in."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent_home.consent.signed_record import write_record
from agent_home.home import Home
from interfaces.page.access import LINK_MINUTES, Visitor, make_link, sign_all_out, sign_in, sign_out, visitor_of


def record(home: Home) -> Path:
    return home.machine / "page-access.json"


def test_a_link_signs_in_once(home: Home, now: datetime) -> None:
    secret = make_link(home, "Kim", now)
    visitor = visitor_of(home, sign_in(home, secret, now), now)
    assert visitor is not None
    assert visitor.person == "Kim"
    assert sign_in(home, secret, now) == ""


def test_a_link_ends_after_its_minutes(home: Home, now: datetime) -> None:
    late = now + timedelta(minutes=LINK_MINUTES)
    assert sign_in(home, make_link(home, "Kim", now), late) == ""
    assert sign_in(home, make_link(home, "Kim", now), late - timedelta(seconds=1))


def test_a_browser_stays_for_half_a_day(home: Home, now: datetime) -> None:
    cookie = sign_in(home, make_link(home, "Kim", now), now)
    assert visitor_of(home, cookie, now + timedelta(hours=11, minutes=59))
    assert visitor_of(home, cookie, now + timedelta(hours=12)) is None


@pytest.mark.parametrize("secret", ["", "x", "\0", "é\ud800", "a" * 100_000])
def test_no_other_secret_opens_anything(home: Home, now: datetime, secret: str) -> None:
    make_link(home, "Kim", now)
    assert sign_in(home, secret, now) == ""
    assert visitor_of(home, secret, now) is None


def test_a_link_is_no_cookie_and_a_cookie_is_no_link(home: Home, now: datetime) -> None:
    secret = make_link(home, "Kim", now)
    assert visitor_of(home, secret, now) is None
    assert sign_in(home, sign_in(home, secret, now), now) == ""


def test_a_link_belongs_to_one_home(home: Home, make_other: Callable[[], Home], now: datetime) -> None:
    other, secret = make_other(), make_link(home, "Kim", now)
    assert sign_in(other, secret, now) == ""
    assert visitor_of(other, sign_in(home, secret, now), now) is None


def test_the_record_of_one_home_counts_in_no_other(home: Home, make_other: Callable[[], Home], now: datetime) -> None:
    cookie, other = sign_in(home, make_link(home, "Kim", now), now), make_other()
    make_link(other, "Kim", now)
    record(other).write_bytes(record(home).read_bytes())
    assert visitor_of(other, cookie, now) is None


def test_the_disk_holds_no_secret(home: Home, now: datetime) -> None:
    secret = make_link(home, "Kim", now)
    cookie = sign_in(home, make_link(home, "Kim", now), now)
    kept = "".join(path.read_text("utf-8", "replace") for path in home.machine.rglob("*") if path.is_file())
    assert secret not in kept
    assert cookie not in kept
    assert record(home).stat().st_mode & 0o077 == 0
    digest = json.loads(record(home).read_text())["record"]["links"][0]["digest"]
    assert sign_in(home, digest, now) == ""
    assert visitor_of(home, digest, now) is None


def test_a_record_that_was_changed_by_hand_opens_nothing(home: Home, now: datetime) -> None:
    cookie = sign_in(home, make_link(home, "Kim", now), now)
    record(home).write_text(record(home).read_text().replace("Kim", "Eve"))
    assert visitor_of(home, cookie, now) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"record": {}, "mac": ""}', "\0" * 10])
def test_a_broken_record_opens_nothing_and_can_be_made_anew(home: Home, now: datetime, text: str) -> None:
    make_link(home, "Kim", now)
    record(home).write_text(text)
    assert visitor_of(home, "x", now) is None
    assert sign_in(home, make_link(home, "Kim", now), now)


def test_a_record_of_another_version_opens_nothing(home: Home, now: datetime) -> None:
    rows = [{"digest": "x", "person": "Kim", "until": "no time", "more": 1}, 3]
    write_record(home.machine, "page-access", {"links": rows, "visitors": rows})
    assert visitor_of(home, "x", now) is None
    assert sign_in(home, make_link(home, "Kim", now), now)


def test_who_signs_out_is_out_and_others_stay(home: Home, now: datetime) -> None:
    one, other = (sign_in(home, make_link(home, name, now), now) for name in ("Kim", "Robin"))
    sign_out(home, one, now)
    assert visitor_of(home, one, now) is None
    found = visitor_of(home, other, now)
    assert found is not None
    assert found.person == "Robin"


def test_the_record_grows_to_fifty_links_and_keeps_the_newest(home: Home, now: datetime) -> None:
    secrets = [make_link(home, "Kim", now) for _ in range(52)]
    assert len(json.loads(record(home).read_text())["record"]["links"]) == 50
    assert sign_in(home, secrets[0], now) == ""
    assert sign_in(home, secrets[-1], now)


def test_two_browsers_that_follow_a_link_at_once_do_not_both_get_in(home: Home, now: datetime) -> None:
    secret, found = make_link(home, "Kim", now), []
    threads = [threading.Thread(target=lambda: found.append(sign_in(home, secret, now))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([cookie for cookie in found if cookie]) == 1


def test_each_browser_has_a_form_key_of_its_own(home: Home, now: datetime) -> None:
    one, other = (visitor_of(home, sign_in(home, make_link(home, "Kim", now), now), now) for _ in range(2))
    assert one is not None
    assert other is not None
    assert one.owns(one.form_key)
    assert not one.owns(other.form_key)


@pytest.mark.parametrize("key", ["", "k", "key ", "KEY", "\ud800", "ключ", "key\0"])
def test_no_other_key_is_the_browsers_own(key: str) -> None:
    assert not Visitor(person="Kim", form_key="key").owns(key)


def test_all_are_signed_out_and_links_stay(home: Home, now: datetime) -> None:
    cookies = [sign_in(home, make_link(home, "Kim", now), now) for _ in range(2)]
    secret = make_link(home, "Kim", now)
    sign_all_out(home, now)
    assert [visitor_of(home, cookie, now) for cookie in cookies] == [None, None]
    assert sign_in(home, secret, now)
