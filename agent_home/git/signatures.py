"""Verify the signatures of commits with keys that a person on this machine trusts.

Nothing in a repository decides: neither which program verifies, nor which keys count. ``git`` starts ``ssh-keygen`` or
``gpg`` from the caller's PATH, and the list of keys comes from the caller.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from guard.lazy_regex import lazy_regex

from .client import home_client

__all__ = ["key_name", "signed_by"]

#: A public SSH key: its kind and its bytes in base64.
_SSH = lazy_regex(r"(?P<kind>(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+) (?P<key>[A-Za-z0-9+/=]{40,})(?:[ \t].*)?")
_FINGERPRINT = lazy_regex(r"(?:[0-9A-F]{40}|[0-9A-F]{64})")
#: Commits that one git process verifies.
_BATCH = 200


def key_name(text: str) -> str:
    """Return the canonical form of a public SSH key or of a GPG fingerprint, or an empty string for anything else."""
    if match := _SSH.fullmatch(text.strip()):
        return f"{match['kind']} {match['key']}"
    digits = text.replace(" ", "").upper().removeprefix("0X")
    return digits if _FINGERPRINT.fullmatch(digits) else ""


def signed_by(root: Path, commits: Sequence[str], keys: Collection[str]) -> list[str]:
    """Return those of *commits* that have a valid signature of one of *keys*, in their order.

    *keys* are names as :func:`key_name` returns them.

    Raises:
        HistoryError: git is absent or refused.
    """
    fingerprints = {key for key in keys if " " not in key}
    ssh_keys = [key for key in keys if " " in key]
    if not keys or not commits:
        return []
    with tempfile.NamedTemporaryFile("w", suffix=".signers", encoding="utf-8") as signers:
        signers.writelines(f'trusted namespaces="git" {key}\n' for key in ssh_keys)
        signers.flush()
        rows: list[str] = []
        for start in range(0, len(commits), _BATCH):
            batch = commits[start : start + _BATCH]
            fields = "%H%x1f%G?%x1f%GS%x1f%GF%x1f%GP"
            output = home_client(root).signatures(batch, fields, ssh_signers=Path(signers.name))
            rows += output.splitlines()
    good = set()
    for row in rows:
        commit, state, signer, fingerprint, primary = (*row.split("\x1f"), "", "", "", "")[:5]
        is_ssh = fingerprint.startswith("SHA256:")
        if (is_ssh and state == "G" and signer == "trusted") or (
            not is_ssh and state in {"G", "U"} and {fingerprint, primary} & fingerprints
        ):
            good.add(commit)
    return [commit for commit in commits if commit in good]
