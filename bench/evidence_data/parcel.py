"""The history of a small parcel tracker in Python, with English messages: two sessions on one day.

Holds a revert by the book, a function moved between files, a merged branch, one that is not merged, two releases,
and a file that goes away after both sessions.
"""

from __future__ import annotations

from .history import History, HistoryStep, SessionWindow

__all__ = ["PARCEL"]

_TRACKER = '''"""Follow parcels over several carriers."""

import re

STATUS = {{"DL": "delivered", "TR": "in transit", "EX": "exception"}}
{pattern}

class ParcelTracker:
    """Knows the last status of every parcel."""

    def __init__(self):
        self.parcels = {{}}

    def track_parcel(self, number):
        return self.parcels.get(number)


def parse_status(line):
    code = {match}
    return STATUS.get(code.group(1), "unknown")
'''
_TRACKER_PLAIN = _TRACKER.format(pattern="", match='re.search(r"([A-Z]{2})$", line)')
_TRACKER_COMPILED = _TRACKER.format(pattern='_CODE = re.compile(r"([A-Z]{2})$")\n', match="_CODE.search(line)")
_CLIENT = '''"""Ask the carriers."""

import requests

TIMEOUT_S = 10


def fetch_page(url):
    return requests.get(url, timeout=TIMEOUT_S).text
'''
_RETRY = '''

def retry_request(url, attempts=5, base_delay=0.5):
    """Wait twice as long after every failure."""
    for attempt in range(attempts):
        try:
            return fetch_page(url)
        except requests.ConnectionError:
            time.sleep(base_delay * 2**attempt)
    raise CarrierUnavailable(url)
'''
_LEGACY = """import csv


def read_legacy_csv(path):
    return list(csv.reader(path.open()))
"""
_ESTIMATE = '''"""When a parcel will arrive."""

from datetime import datetime, timedelta


def estimate_delivery(sent, days):
    return datetime.{now} + timedelta(days=days)
'''
_CACHE = '''"""Responses kept on disk."""


class DiskCache:
    def __init__(self, folder):
        self.folder = folder
'''
_LOAD_CACHED = """

def load_cached(folder, key):
    path = folder / key
    return path.read_text() if path.exists() else None
"""
_WEBHOOKS = '''"""Tell others that a parcel was delivered."""

import json


def send_webhook(url, parcel):
    return post(url, json.dumps(parcel))
'''
_SIGN = """

def sign_payload(secret, payload):
    return hmac.new(secret, payload, "sha256").hexdigest()
"""
_SETUP = "[metadata]\nname = parcel\nversion = {version}\npython_requires = >={python}\n"
_README = "# Parcel\n\nFollows parcels over several carriers. Call `read_legacy_csv` for old exports.\n"

PARCEL = History(
    name="parcel",
    sessions={
        "morning": SessionWindow(since="2026-03-02T09:00:00+00:00", until="2026-03-02T12:00:00+00:00"),
        "afternoon": SessionWindow(since="2026-03-02T14:00:00+00:00", until="2026-03-02T17:30:00+00:00"),
    },
    uncommitted={"src/parcel/labels.py": "def print_label(parcel):\n    return str(parcel)\n"},
    steps=(
        HistoryStep(
            key="start", when="2026-01-12T10:00:00+00:00", message="Start the parcel tracker",
            files={
                "README.md": _README,
                "setup.cfg": _SETUP.format(version="0.8.0", python="3.8"),
                "requirements.txt": "requests==2.31.0\n",
                "src/parcel/tracker.py": _TRACKER_PLAIN,
                "src/parcel/http_client.py": _CLIENT,
                "src/parcel/estimate.py": _ESTIMATE.format(now="now()"),
                "src/parcel/constants.py": "MAX_PARCELS = 500\nMAX_NAME_LENGTH = 80\n",
                "src/parcel/legacy_csv.py": _LEGACY,
                "tests/test_tracker.py": "def test_an_unknown_parcel_has_no_status():\n    assert True\n",
            },
        ),
        HistoryStep(
            key="cache", when="2026-01-20T10:00:00+00:00", message="Cache carrier responses on disk",
            files={"src/parcel/cache.py": _CACHE + _LOAD_CACHED},
        ),
        HistoryStep(
            key="docker", when="2026-02-03T10:00:00+00:00", message="Add a Dockerfile for the nightly job",
            files={"Dockerfile": "FROM python:3.12-slim\n", "scripts/nightly.sh": "#!/bin/sh\nexec parcel --all\n"},
        ),
        HistoryStep(
            key="v09", when="2026-02-10T10:00:00+00:00", message="Release 0.9.0", tag="v0.9.0",
            files={"setup.cfg": _SETUP.format(version="0.9.0", python="3.8")},
        ),
        HistoryStep(
            key="retry", when="2026-03-02T09:20:00+00:00", message="Retry carrier requests with exponential backoff",
            files={"src/parcel/http_client.py": _CLIENT + _RETRY},
        ),
        HistoryStep(
            key="csv", when="2026-03-02T09:50:00+00:00", message="Remove the legacy CSV reader",
            files={"src/parcel/legacy_csv.py": None},
        ),
        HistoryStep(
            key="zone", when="2026-03-02T10:15:00+00:00", message="Fix timezone offset in delivery estimates",
            files={"src/parcel/estimate.py": _ESTIMATE.format(now="now(UTC)")},
        ),
        HistoryStep(
            key="limits", when="2026-03-02T10:40:00+00:00", message="Call the constants what they are: limits",
            moves={"src/parcel/constants.py": "src/parcel/limits.py"},
        ),
        HistoryStep(
            key="tests", when="2026-03-02T11:10:00+00:00", message="Test that retries stop after five attempts",
            files={"tests/test_retry.py": "def test_retries_stop_after_five_attempts():\n    assert True\n"},
        ),
        HistoryStep(
            key="pins", when="2026-03-02T11:30:00+00:00", message="Bump requests to 2.32.4 and pin urllib3",
            files={"requirements.txt": "requests==2.32.4\nurllib3==2.2.1\n"},
        ),
        HistoryStep(
            key="regex", when="2026-03-02T11:45:00+00:00",
            message="Speed up status parsing with a precompiled regular expression",
            files={"src/parcel/tracker.py": _TRACKER_COMPILED},
        ),
        HistoryStep(
            key="unregex", when="2026-03-02T14:20:00+00:00",
            message='Revert "Speed up status parsing with a precompiled regular expression"\n\n'
            "This reverts commit {regex}.\n",
            files={"src/parcel/tracker.py": _TRACKER_PLAIN},
        ),
        HistoryStep(
            key="hooks", when="2026-03-02T14:30:00+00:00", branch="webhooks",
            message="Add webhook notifications for delivered parcels",
            files={"src/parcel/webhooks.py": _WEBHOOKS},
        ),
        HistoryStep(
            key="storage", when="2026-03-02T14:50:00+00:00", message="Move load_cached into the storage module",
            files={"src/parcel/cache.py": _CACHE, "src/parcel/storage.py": '"""Files on disk."""\n' + _LOAD_CACHED},
        ),
        HistoryStep(
            key="sign", when="2026-03-02T15:10:00+00:00", branch="webhooks",
            message="Sign webhook payloads with HMAC-SHA256",
            files={"src/parcel/webhooks.py": _WEBHOOKS + _SIGN},
        ),
        HistoryStep(
            key="merge", when="2026-03-02T15:30:00+00:00", message="Merge branch 'webhooks'", merge="webhooks",
            files={"src/parcel/webhooks.py": _WEBHOOKS + _SIGN},
        ),
        HistoryStep(
            key="hookdocs", when="2026-03-02T16:10:00+00:00", message="Describe how webhooks are set up",
            files={"docs/webhooks.md": "# Webhooks\n\nSet `webhook_url` in parcel.toml.\n"},
        ),
        HistoryStep(
            key="asyncio", when="2026-03-02T16:40:00+00:00", branch="experimental",
            message="Try an asyncio client for the carriers",
            files={"src/parcel/async_client.py": "async def fetch_async(url):\n    return await get(url)\n"},
        ),
        HistoryStep(
            key="v10", when="2026-03-02T17:00:00+00:00", message="Release 1.0.0", tag="v1.0.0",
            files={"setup.cfg": _SETUP.format(version="1.0.0", python="3.8")},
        ),
        HistoryStep(
            key="later", when="2026-03-10T10:00:00+00:00", message="Drop Python 3.8 and the container image",
            files={
                "setup.cfg": _SETUP.format(version="1.0.0", python="3.9"),
                "Dockerfile": None,
                "src/parcel/metrics.py": "def count_deliveries(parcels):\n    return len(parcels)\n",
            },
        ),
    ),
)  # fmt: skip
