"""Repositories full of traps: each program that a repository can name writes its own name into a file when it runs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Trapped", "plain"]

#: Settings of git that name a program. ``test_every_setting_that_names_a_program_is_a_trap`` compares them with git's.
PROGRAMS = (
    "browser.trap.cmd", "browser.trap.path", "core.alternateRefsCommand", "core.askPass", "core.editor",
    "core.fsmonitor", "core.gitProxy", "core.pager", "core.sshCommand", "credential.helper",
    "credential.https://example.com.helper", "diff.external", "diff.trap.command", "diff.trap.textconv",
    "difftool.trap.cmd", "difftool.trap.path", "filter.trap.clean", "filter.trap.smudge", "filter.served.process",
    "gc.recentObjectsHook", "gpg.program", "gpg.openpgp.program", "gpg.ssh.defaultKeyCommand", "gpg.ssh.program",
    "gpg.x509.program", "guitool.trap.cmd", "hook.trap.command", "imap.tunnel", "instaweb.browser", "instaweb.httpd",
    "interactive.diffFilter", "man.trap.cmd", "man.trap.path", "merge.agent-home.driver", "merge.trap.driver",
    "mergetool.trap.cmd", "mergetool.trap.path", "pager.diff", "pager.log", "pager.show", "pager.status",
    "remote.origin.receivepack", "remote.origin.uploadpack", "sendemail.ccCmd", "sendemail.headerCmd",
    "sendemail.sendmailCmd", "sendemail.smtpServer", "sendemail.toCmd", "sequence.editor", "tar.trap.command",
    "trailer.trap.cmd", "trailer.trap.command", "uploadpack.packObjectsHook",
    "remote.other.vcs", "web.browser",
)  # fmt: skip
#: Settings that let git use the programs, or that lead it to another place.
SWITCHES = (
    ("commit.gpgSign", "true"), ("tag.gpgSign", "true"), ("log.showSignature", "true"), ("log.diffMerges", "remerge"),
    ("diff.submodule", "diff"), ("diff.ignoreSubmodules", "none"), ("submodule.recurse", "true"),
    ("status.submoduleSummary", "true"), ("submodule.inner.ignore", "none"), ("submodule.inner.active", "true"),
    ("color.ui", "always"), ("gc.auto", "1"), ("maintenance.auto", "true"), ("protocol.allow", "always"),
    ("protocol.ext.allow", "always"), ("remote.origin.promisor", "true"), ("extensions.partialClone", "origin"),
    ("core.repositoryFormatVersion", "1"), ("extensions.worktreeConfig", "true"), ("filter.trap.required", "true"),
    ("gpg.format", "openpgp"), ("trailer.trap.key", "Session"), ("merge.trap.name", "trap"),
)  # fmt: skip
HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc",
    "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg",
    "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate", "update",
)  # fmt: skip
ATTRIBUTES = "* diff=trap merge=trap\n*.md diff=trap merge=trap\n*.trapped filter=trap\n*.served filter=served\n"
FILES = {"app.py": "keep_sum = 1\n", "MEMORY.md": "# Memory\n", "a.trapped": "x\n", "b.served": "y\n"}
_WHO = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.com"))}  # fmt: skip


def plain(root: Path, *arguments: str, check: bool = False, stdin: str = "", bare: bool = False) -> str:
    """Run git as a person would, and return its output. *bare* runs it without the configuration of the repository."""
    quiet = (
        ("core.fsmonitor=false", "core.hooksPath=/dev/null", "commit.gpgSign=false", "diff.external=") if bare else ()
    )
    options = [word for setting in quiet for word in ("-c", setting)]
    done = subprocess.run(
        ["git", *options, *arguments], cwd=root, check=check, capture_output=True, text=True, input=stdin, timeout=60,
        env={**_without_places(os.environ), **_WHO, "GIT_TERMINAL_PROMPT": "0"},
    )  # fmt: skip
    return done.stdout.strip()


def _without_places(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those that lead git to another repository, index or editor."""
    kept = ("GIT_CONFIG", "GIT_SSL")
    return {name: value for name, value in environ.items() if not name.startswith("GIT_") or name.startswith(kept)}


class Trapped:
    """The repository *root*, whose traps write into a file in *folder*."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder, self.record = root, folder, folder / "ran"
        folder.mkdir(exist_ok=True)

    def build(self) -> None:
        """Make a history with a merge, a submodule, a signed commit and a missing object, and set every trap."""
        self.root.mkdir(parents=True, exist_ok=True)
        plain(self.root, "init", "--quiet", "--initial-branch=main", check=True)
        self._commit(
            "Start", {"app.py": "keep_sum = 1\n", "MEMORY.md": "# Memory\n", "a.trapped": "x\n", "b.served": "y\n"}
        )
        plain(self.root, "checkout", "--quiet", "-b", "side")
        self._commit("Side", {"app.py": "keep_sum = 2\n"})
        plain(self.root, "checkout", "--quiet", "main")
        self._commit("Main", {"app.py": "keep_sum = 3\n", ".gitattributes": ATTRIBUTES})
        plain(self.root, "merge", "--quiet", "-s", "ours", "--no-commit", "side")
        self._commit("Fix keep_sum rounding in app.py by 12 cents", {"app.py": "keep_sum = 12\n"})
        plain(self.root, "tag", "merged")
        self._submodule()
        self._signed()
        self.set_traps()

    def set_traps(self) -> None:
        """Set every trap in a repository that is there."""
        git = Path(plain(self.root, "rev-parse", "--absolute-git-dir", check=True))
        hooks = self.folder / "hooks"
        for hook in HOOKS:
            for place in (hooks, git / "hooks"):
                self._script(place / hook, f"hook {hook}")
        settings = [(key, self._named(key)) for key in PROGRAMS]
        settings += [("alias.trapped", f"!{self._named('alias')}"), *SWITCHES, ("core.hooksPath", str(hooks)),
                     ("include.path", str(self.folder / "included")),
                     ("remote.origin.url", f"ext::{self._named('remote ext')} x"),
                     ("submodule.inner.update", f"!{self._named('submodule update')}"),
                     ("core.attributesFile", str(self.folder / "attributes"))]  # fmt: skip
        (self.folder / "attributes").write_text(ATTRIBUTES)
        (git / "info").mkdir(exist_ok=True)
        (git / "info" / "attributes").write_text(ATTRIBUTES)
        (git / "info" / "grafts").write_text(f"{plain(self.root, 'rev-parse', 'HEAD')}\n")
        (self.folder / "included").write_text(self._text([("diff.trap.textconv", self._named("included textconv"))]))
        (git / "config.worktree").write_text(self._text([("core.fsmonitor", self._named("worktree fsmonitor"))]))
        with (git / "config").open("a") as file:
            file.write(self._text(settings))

    def ran(self) -> set[str]:
        """Return the programs that ran since the last call."""
        found = set(self.record.read_text().splitlines()) if self.record.exists() else set()
        self.record.unlink(missing_ok=True)
        return found

    def lose(self, name: str) -> str:
        """Remove the object *name* and return its id."""
        oid = plain(self.root, "rev-parse", name, bare=True)
        (self.root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
        return oid

    def _commit(self, message: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text)
        plain(self.root, "add", "--all", check=True)
        plain(self.root, "commit", "--quiet", "-m", message, check=True)

    def _submodule(self) -> None:
        inner = self.root / "inner"
        inner.mkdir()
        plain(inner, "init", "--quiet", "--initial-branch=main", check=True)
        for text in ("y = 1\n", "y = 2\n"):
            (inner / "lib.py").write_text(text)
            plain(inner, "add", ".")
            plain(inner, "commit", "--quiet", "-m", "Write y")
            modules = '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n'
            self._commit("Move inner", {".gitmodules": modules})
        settings = [
            (key, self._named(f"inner {key}")) for key in ("diff.external", "core.fsmonitor", "filter.trap.clean")
        ]
        with (inner / ".git" / "config").open("a") as file:
            file.write(self._text(settings))
        (inner / "lib.py").write_text("y = 3\n")

    def _signed(self) -> None:
        body = plain(self.root, "cat-file", "commit", "HEAD")
        head, _, message = body.partition("\n\n")
        gpg = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"
        signed = f"{head}\nparent {plain(self.root, 'rev-parse', 'HEAD')}\n".split("\n")
        lines = [line for line in signed if line and not line.startswith("parent")]
        lines.insert(1, f"parent {plain(self.root, 'rev-parse', 'HEAD')}")
        text = "\n".join([*lines, gpg]) + f"\n\n{message} again\n"
        oid = plain(self.root, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text, check=True)
        plain(self.root, "update-ref", "refs/heads/main", oid, check=True)

    def _named(self, name: str) -> str:
        return str(self._script(self.folder / "bin" / name.replace(" ", "-").replace("/", "-"), name))

    def _script(self, path: Path, name: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {name!r} >> {self.record}\nexit 0\n")
        path.chmod(0o755)
        return path

    @staticmethod
    def _text(settings: Sequence[tuple[str, str]]) -> str:
        lines = []
        for key, value in settings:
            section, _, rest = key.partition(".")
            subsection, _, name = rest.rpartition(".")
            lines += [f'[{section} "{subsection}"]' if subsection else f"[{section}]", f'\t{name} = "{value}"']
        return "\n" + "\n".join(lines) + "\n"
