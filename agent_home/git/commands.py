"""List every git command that the program runs, what for, and why it is safe in a repository that others made.

``agent_home.git.client`` refuses any other command. ``docs/git-commands.md`` shows the list, and
``tests/agent_home/git/test_commands.py`` runs each command in a repository that is full of traps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["COMMANDS", "GitCommand", "listed"]

#: What a command sees of a repository. ``stand-in``: objects, refs and files, with a stand-in for its configuration and
#: hooks. ``configuration``: what the repository itself configures, to report it. ``nothing``: no repository.
Sight = Literal["stand-in", "configuration", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCommand:
    """One command: the *words* that it starts with, *where* it runs, its *purpose*, and why it is *safe*."""

    words: str
    where: str
    purpose: str
    safe: str
    sees: Sight = "stand-in"
    changes: bool = False


_SHOWN = "prints objects; `--no-ext-diff --no-textconv --submodule=short`, and no driver is configured"
_REFS = "reads refs alone"
_GRAPH = "reads commits and trees alone"
_STATED = "prints one line of git's own"
_LISTED = "reads the staging area and names of files, never their content"
_COMPARED = "compares files; only filters of the user's own configuration run, and git looks into no submodule"
_REPORTED = "reads the configuration and starts nothing"
_WRITES = "writes objects from bytes that the program made"
_MOVES = "moves refs; there are no hooks"
_PACKS = "starts git's own `pack-objects`, in the same surroundings"

_HOME, _SESSION, _BOTH = "home", "session", "home, session"

COMMANDS: tuple[GitCommand, ...] = (
    GitCommand(words="cat-file", where="home, session, commit hook", purpose="texts and kinds of objects",
               safe="prints objects as they are, never with `--textconv` or `--filters`"),
    GitCommand(words="check-attr", where=_HOME, purpose="whether git converts a file that is committed",
               safe="reads attributes and applies none"),
    GitCommand(words="count-objects", where=_HOME, purpose="whether packing is worthwhile",
               safe="counts files of git's folder"),
    GitCommand(words="diff", where=_HOME, purpose="names of changed files", safe=_COMPARED),
    GitCommand(words="diff-index", where="home, commit hook", purpose="names of changed files",
               safe=_COMPARED),
    GitCommand(words="diff-tree", where=_BOTH, purpose="files that moved, are as before or came with a pull",
               safe="compares trees; no file is read"),
    GitCommand(words="for-each-ref", where=_BOTH, purpose="branches, tags, which of them hold a commit",
               safe=_REFS),
    GitCommand(words="fsck", where=_HOME, purpose="that a history made anew is whole",
               safe="reads objects"),
    GitCommand(words="grep", where=_SESSION, purpose="whether code has a symbol",
               safe="`--no-textconv --no-recurse-submodules`; with `--untracked` it reads regular files"),
    GitCommand(words="log", where=_BOTH, purpose="messages, changed files and patches of commits",
               safe=_SHOWN),
    GitCommand(words="ls-files", where=_HOME, purpose="tracked and untracked files", safe=_LISTED),
    GitCommand(words="ls-tree", where=_BOTH, purpose="files of a commit", safe=_GRAPH),
    GitCommand(words="merge-base", where=_HOME, purpose="the commit from which a pulled branch went on", safe=_GRAPH),
    GitCommand(words="pack-objects", where=_HOME, purpose="the history, for `memory backup`",
               safe="prints objects as they are and writes nothing"),
    GitCommand(words="remote -v", where=_HOME, purpose="addresses that keep an old history",
               safe="prints addresses and contacts none"),
    GitCommand(words="rev-list", where=_BOTH, purpose="which commits reach which", safe=_GRAPH),
    GitCommand(words="rev-parse --git-path hooks", sees="configuration", where=_HOME,
               purpose="the folder of a person's hooks, to install or report ours", safe=_REPORTED),
    GitCommand(words="rev-parse", where=_BOTH, purpose="hashes of names", safe=_GRAPH),
    GitCommand(words="show", where=_BOTH, purpose="the patch of a commit, its date, trailers and signature",
               safe=f"{_SHOWN}; a signature is verified by `gpg` or `ssh-keygen` from PATH, with keys trusted here"),
    GitCommand(words="status", where=_HOME, purpose="uncommitted edits", safe=_COMPARED),
    GitCommand(words="var", where=_HOME, purpose="who commits", safe=_STATED),
    GitCommand(words="worktree list", where=_HOME, purpose="other work trees", safe=_STATED),
    GitCommand(words="config --get", sees="configuration", where=_HOME,
               purpose="the merge driver, packing, line ends and the user's name, to report them", safe=_REPORTED),
    GitCommand(words="config --local --get", sees="configuration", where=_HOME,
               purpose="whose folder of hooks it is, and addresses of submodules", safe=_REPORTED),
    GitCommand(words="config --local --replace-all", sees="configuration", where=_HOME, changes=True,
               purpose="install the merge driver, and lead the git folder of a restored submodule back to its files",
               safe="writes four keys and starts nothing"),
    GitCommand(words="add", where=_HOME, changes=True, purpose="stage a person's edits",
               safe="only filters of the user's own configuration run, and there are no hooks"),
    GitCommand(words="branch -D", where=_HOME, changes=True, purpose="drop a decided proposal",
               safe=_MOVES),
    GitCommand(words="commit", where=_HOME, changes=True, purpose="commit a person's edits",
               safe="`--no-verify -F -`, no hooks, no signature, no editor, no automatic packing"),
    GitCommand(words="fetch", sees="nothing", where="an empty repository of its own", changes=True,
               purpose="objects of another clone, for `memory pull`",
               safe="no configuration but the user's own; https, ssh and folders only; objects are checked"),
    GitCommand(words="ls-remote", sees="nothing", where="a repository of its own",
               purpose="refs of the remote of a fleet's home",
               safe="no configuration but the user's own; https, ssh and folders only"),
    GitCommand(words="push", sees="nothing", where="a repository of its own", changes=True,
               purpose="publish a write to a fleet's home",
               safe="no configuration but the user's own, and no hooks here; a ref moves only from its known value"),
    GitCommand(words="fast-import", where=_HOME, changes=True, purpose="commit the gateway's texts",
               safe=f"{_WRITES}; starts git's own `unpack-objects`"),
    GitCommand(words="hash-object", where=_HOME, changes=True, purpose="stage the gateway's texts",
               safe="`--no-filters`"),
    GitCommand(words="index-pack", where=_HOME, changes=True, purpose="a history made anew",
               safe=_WRITES),
    GitCommand(words="init", sees="nothing", where="no repository yet", changes=True,
               purpose="make a home a repository",
               safe="the folder has no `.git`, and templates are the user's own"),
    GitCommand(words="merge-file", sees="nothing", where=_HOME, purpose="merge three files by lines",
               safe="gets three files and no repository, so no driver"),
    GitCommand(words="prune", where=_HOME, changes=True, purpose="drop the old history",
               safe="removes objects that nothing reaches"),
    GitCommand(words="prune-packed", where=_HOME, changes=True, purpose="drop the old history",
               safe="removes objects that a pack holds"),
    GitCommand(words="read-tree", where=_HOME, changes=True, purpose="the staging area of a new history",
               safe="writes no file, so no filter; there are no hooks"),
    GitCommand(words="reflog expire", where=_HOME, changes=True, purpose="leave out a lost commit",
               safe=_MOVES),
    GitCommand(words="repack", where=_HOME, changes=True, purpose="one pack for many objects",
               safe=_PACKS),
    GitCommand(words="stash store", where=_HOME, changes=True, purpose="restore stashes of a new history",
               safe=_MOVES),
    GitCommand(words="symbolic-ref --delete", where=_HOME, changes=True,
               purpose="drop the HEAD of a remote without branches", safe=_MOVES),
    GitCommand(words="update-index", where=_HOME, changes=True, purpose="stage the gateway's texts",
               safe="only filters of the user's own configuration run, and there are no hooks"),
    GitCommand(words="update-ref", where=_HOME, changes=True, purpose="move and drop branches",
               safe=_MOVES),
)  # fmt: skip
_BY_WORDS = {tuple(command.words.split()): command for command in COMMANDS}
_MOST_WORDS = max(map(len, _BY_WORDS))


def listed(arguments: Sequence[str]) -> GitCommand | None:
    """Return the listed command that *arguments* run, the one with the most words, or ``None``."""
    lengths = range(_MOST_WORDS, 0, -1)
    return next((found for size in lengths if (found := _BY_WORDS.get(tuple(arguments[:size])))), None)
