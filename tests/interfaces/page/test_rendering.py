"""Whatever somebody else names or says is text of the page, and nothing of the page is run or loaded from elsewhere."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from markupsafe import Markup

from agent_home.home import Home
from distill.review.queue import waiting
from interfaces.page.rendering import POLICY, STATIC, render, static_file
from interfaces.page.routes import VIEWS
from tests.interfaces.page.browser import Browser, Document
from tests.interfaces.page.hostile import ENTRY, HIDING, SECRET, hostile, push_proposal

TEMPLATES = sorted((Path(__file__).parents[3] / "interfaces" / "page" / "templates").glob("*.html"))
#: Attributes that hold an address.
ADDRESSES = frozenset({"href", "src", "action", "formaction", "data", "hx-get", "hx-post", "srcdoc", "poster"})
FOREIGN = frozenset({"x-evil", "iframe", "object", "embed", "base", "img", "style", "template", "math", "frame"})


def require_harmless(document: Document) -> None:
    """Fail where anything in *document* runs, or loads from elsewhere."""
    for tag in document.tags:
        assert tag.name not in FOREIGN, tag
        for name, value in tag.attributes.items():
            assert not name.startswith(("on", "hx-on", "x-")), tag
            assert name not in {"style", "hx-vals", "hx-headers", "hx-vars", "srcset", "xlink:href"}, tag
            if name in ADDRESSES:
                at = urlsplit(value)
                assert (at.scheme, at.netloc) == ("", ""), tag
                assert value.startswith(("/page/", "#", "?")), tag
        if tag.name == "script":
            assert tag.attributes["src"].startswith("/page/static/"), tag
        if tag.name == "meta":
            assert tag.attributes.get("http-equiv", "") in {"", "Content-Security-Policy"}, tag
    scripts = [tag for tag in document.tags if tag.name == "script"]
    assert len(scripts) <= 2


#: Addresses of every view, and the places whose hostile texts they show.
SHOWN = {
    "/page/review": {"agent"},
    "/page/memory": {"statement", "section"},
    f"/page/memory/{ENTRY}": {"statement", "field", "turn", "work-subject", "own-subject"},
    f"/page/memory/{HIDING}": {"own-subject"},
    "/page/memory?archived=1": {"agent"},
    "/page/memory?at=HEAD": {"statement", "section"},
    "/page/prompt?message=what+do+we+ship": {"section"},
    "/page/prompt?message=ledger&other_window=8000": {"agent"},
    "/page/search?words=ship+notes": {"turn", "knowledge"},
    "/page/over-time": {"agent"},
    "/page/health": {"agent"},
}


def test_every_view_is_looked_at() -> None:
    looked_at = {path.partition("?")[0] for path in SHOWN}
    assert {view.path.replace("{entry}", ENTRY) for view in VIEWS} <= looked_at


@pytest.mark.parametrize(("path", "places"), SHOWN.items())
def test_hostile_texts_are_text(hostile_browser: Browser, path: str, places: set[str]) -> None:
    document = hostile_browser.read(path)
    require_harmless(document)
    for place in places:
        assert hostile(place) in document.text, place


def test_each_item_of_the_review_is_text(hostile_browser: Browser) -> None:
    found = {
        tag.attributes["href"]
        for tag in hostile_browser.read("/page/review").tags
        if "?item=" in tag.attributes.get("href", "")
    }
    assert len(found) >= 2
    shown = [hostile_browser.read(address) for address in sorted(found)]
    for document in shown:
        require_harmless(document)
    text = "".join(document.text for document in shown)
    assert hostile("held") in text
    assert SECRET in text  # it waits for this person, who must see it
    assert hostile("proposal") in text


NAMES = ("words", "at", "section", "item", "message", "layer", "audience", "lang", "window", "other_at", "page", "code")


@pytest.mark.parametrize(
    ("proposal_id", "path"),
    [("KD-9999", "MEMORY.md"), ("\"'><x-evil>\u202e#&%41", "MEMORY.md"), ("a/b/<x>", "<x>\u202e.md")],
)
def test_a_proposal_that_a_stranger_pushed_is_text_and_can_be_decided(
    browser: Browser, home: Home, now: datetime, proposal_id: str, path: str
) -> None:
    push_proposal(home, proposal_id, path)
    (item,) = waiting(home, now)
    document = browser.read("/page/review", item=item.id)
    require_harmless(document)
    assert hostile("pushed") in document.text
    assert hostile("place") in document.text
    assert "made elsewhere" in document.text
    assert "high risk" in document.text
    assert "\u202e" not in document.text
    for place in ("actor", "source", "session", "evidence"):  # claims that nobody signed
        assert hostile(place) not in document.text
    answer = browser.submit(document.form("/reject"))
    require_harmless(Document(answer.text))
    assert "\u202e" not in Document(answer.text).text
    assert answer.status_code in {303, 422}  # the guard keeps such a name out of the ledger
    assert [one.id for one in waiting(home, now)] == ([] if answer.status_code == 303 else [item.id])


@pytest.mark.parametrize("path", [*(view.path.replace("{entry}", ENTRY) for view in VIEWS), "/page/sign-in"])
def test_hostile_queries_are_text(hostile_browser: Browser, path: str) -> None:
    value = f"\"><x-evil a='{hostile('query')}"
    for name in (*NAMES, value):
        answer = hostile_browser.ask("GET", path, headers={"Sec-Fetch-Site": "same-origin"}, params={name: value})
        assert answer.status_code in {200, 401, 404, 422}
        require_harmless(Document(answer.text))


@pytest.mark.parametrize(
    "path", ["/page/memory/<x-evil>", "/page/%22onclick=x()%22", "/page/static/<script>", "/page/memory/a%00b"]
)
def test_hostile_addresses_are_text(hostile_browser: Browser, path: str) -> None:
    answer = hostile_browser.get(path)
    assert answer.status_code in {404, 422}
    require_harmless(Document(answer.text))


def test_what_nobody_sees_is_shown(hostile_browser: Browser) -> None:
    for path in ("/page/memory", f"/page/memory/{HIDING}"):
        answer = hostile_browser.get(path)
        assert "z\\u200by\\u202ex" in answer.text
        assert not re.search("[\u200b\u202e]", answer.text)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_a_script_or_a_style_of_its_own(path: Path) -> None:
    source = path.read_text("utf-8")
    assert not re.search(r"""(?i)[\s"']on\w+\s*=|javascript:|\bhx-on""", source)
    assert not re.search(r"<script(?![^>]*\bsrc=)", source)
    assert not re.search(r"\|\s*safe|autoescape|Markup|_self\.", source)
    if path.name != "file.html":  # the policy of the file has the digest of its style
        assert not re.search(r"<style|\sstyle\s*=", source)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_attribute_with_a_value_is_quoted(path: Path) -> None:
    source = re.sub(r"{%.*?%}", "", path.read_text("utf-8"))
    assert not re.search(r"\s[\w-]+=\s*{{", source)


@pytest.mark.parametrize("name", sorted(STATIC))
def test_a_static_file_has_an_address_that_changes_with_it(name: str) -> None:
    found = static_file(name)
    assert found is not None
    assert found.content
    assert found.media_type == STATIC[name]
    assert len(found.tag) == 12


@pytest.mark.parametrize("name", ["", ".", "..", "../routes.py", "page.css/", "PAGE.CSS", "/etc/passwd", "page.css\0"])
def test_no_other_name_is_a_file(name: str) -> None:
    assert static_file(name) is None


def test_the_scripts_of_the_page_make_no_code_of_text() -> None:
    found = static_file("page.js")
    assert found is not None
    source = found.content.decode()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(|setTimeout\(\"", source
    )


def test_the_policy_lets_nothing_in() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules.pop("default-src") == rules.pop("frame-ancestors") == rules.pop("base-uri") == "'none'"
    assert set(rules.values()) == {"'self'"}


def test_markup_of_a_value_is_escaped_too() -> None:
    html = render(
        "error.html", "en", visitor=None, agent=Markup("<x-evil>"), tab="", languages_links={"en": "?", "zh": "?"},
        text=Markup("<x-evil>"),
    )  # fmt: skip
    require_harmless(Document(html))
