"""A commit counts as signed by keys that the caller names, and by no others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_home.git.signatures import key_name, signed_by
from agent_home.home import Home

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHqU5rV0B1Ykq8oD3oJ8m5wQ1T2v3w4x5y6z7A8B9C0D"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"{KEY} ada@example.org\n", KEY),
        ("0x" + "ab" * 20, "AB" * 20),
        ("AB CD " + "0" * 36, "ABCD" + "0" * 36),
        (f'{KEY}\ntrusted namespaces="git" {KEY}', ""),
        ("command=x " + KEY, ""),
        ("", ""),
    ],
)
def test_the_name_of_a_key(text: str, name: str) -> None:
    assert key_name(text) == name


def test_only_signatures_of_the_named_keys_count(home: Home, tmp_path: Path) -> None:
    keys = []
    for name in ("mine", "other"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(tmp_path / name)], check=True
        )
        keys.append(key_name((tmp_path / f"{name}.pub").read_text()))
    identity = ["-c", "user.name=p", "-c", "user.email=p@example.org", "-c", f"user.signingkey={tmp_path / 'mine'}.pub"]
    options = ["-c", "gpg.format=ssh", "commit", "-S", "--no-verify", "--allow-empty", "-qm", "x"]
    subprocess.run(["git", *identity, *options], cwd=home.root, check=True)
    commits = subprocess.run(
        ["git", "rev-list", "HEAD"], cwd=home.root, check=True, capture_output=True, text=True
    ).stdout.split()
    assert signed_by(home.root, commits, [keys[0]]) == commits[:1]
    assert signed_by(home.root, commits, keys) == commits[:1]
    assert signed_by(home.root, commits, [keys[1], "AB" * 20]) == []
    assert signed_by(home.root, commits, []) == []
