"""Define the command ``memory`` and the table of its commands, one module for each command or family of commands."""

from __future__ import annotations

import gc

import click

from .command import LazyGroup, no_colours

__all__ = ["COMMANDS", "cli", "main"]

#: Objects that a command may make before unreachable ones among them are looked for. Importing makes nearly all
#: objects of a command, and they stay.
_OBJECTS_BETWEEN_COLLECTIONS = 100_000

#: Headings of ``memory --help``, and under each its commands: the name, where it is defined, and its summary.
#: The summary is repeated here from the command's docstring, so that the help imports no command.
COMMANDS = {
    "Start": {
        "init": ("interfaces.cli.commands.init:init", "Create an agent's home in DIR."),
        "import": ("interfaces.cli.commands.imports:import_", "Import conversations as transcripts."),
        "model": ("interfaces.cli.commands.model:model", "Show which embedding model is in use, or build it."),
    },
    "Every session": {
        "prompt": ("interfaces.cli.commands.prompt:prompt", "Assemble the system prompt and print it."),
        "remember": ("interfaces.cli.commands.remember:remember", "Write something to memory on purpose."),
        "done": ("interfaces.cli.commands.done:done", "Mark an open thread as done."),
        "close": ("interfaces.cli.commands.close:close", "Turn finished sessions into memory."),
        "resume": ("interfaces.cli.commands.resume:resume", "Summarize a session so that it can be continued."),
        "brief": ("interfaces.cli.commands.brief:brief", "Print what a chat host gets of memory."),
        "search": ("interfaces.cli.commands.search:search", "Search memory, conversations and knowledge."),
        "cite": ("interfaces.cli.commands.cite:cite", "Record that entries were useful."),
    },
    "Look after memory": {
        "review": ("interfaces.cli.commands.review:review", "Decide about texts that wait for a person."),
        "page": ("interfaces.cli.commands.page:page", "Show memory in a browser, to see and review it."),
        "evolve": ("interfaces.cli.commands.evolve:evolve", "Show recurring corrections and the rules they suggest."),
        "distill": ("interfaces.cli.commands.distill:distill", "Run the nightly maintenance."),
        "archive": ("interfaces.cli.commands.archive:archive", "Move entries that nobody uses to the archive."),
        "restore": ("interfaces.cli.commands.restore:restore", "Bring an archived entry back to MEMORY.md."),
        "verify": ("interfaces.cli.commands.verify:verify", "Check the evidence of entries against git again."),
        "forget": ("interfaces.cli.commands.forget:forget", "Erase an entry or a text everywhere in the home."),
    },
    "Outputs of tools": {
        "log": ("interfaces.cli.commands.outputs:log", "Store what a tool printed, and print its id."),
        "fetch": ("interfaces.cli.commands.outputs:fetch", "Print an output, its summary or a part of it."),
        "list": ("interfaces.cli.commands.outputs:list_", "List stored outputs, newest first."),
        "checkpoint": (
            "interfaces.cli.commands.checkpoint:checkpoint",
            "Note where work stands, and go on from there.",
        ),
        "context": ("interfaces.cli.commands.context:context", "Keep the working context of a session for an hour."),
        "status": ("interfaces.cli.commands.status:status", "Keep the state of work in a folder's STATUS.md."),
        "refs": ("interfaces.cli.commands.outputs:refs", "List the outputs of a checkpoint or of a folder."),
        "stats": ("interfaces.cli.commands.outputs:stats", "Count stored outputs."),
        "events": ("interfaces.cli.commands.events:events", "Show what happened in this home, oldest first."),
        "prune": ("interfaces.cli.commands.outputs:prune", "Drop old outputs."),
    },
    "Jobs and pods": {
        "run": ("interfaces.cli.commands.jobs:run", "Run a command with memory, and keep what it leaves."),
        "export": ("interfaces.cli.commands.export:export", "Print MEMORY.md as another system keeps it."),
        "ingest-output": ("interfaces.cli.commands.jobs:ingest_output", "Write what an output marks as memory."),
    },
    "Look back": {
        "history": ("interfaces.cli.commands.history:history", "Show where an entry comes from."),
        "diff": ("interfaces.cli.commands.diff:diff", "Show what changed in memory, entry by entry."),
        "revert": ("interfaces.cli.commands.revert:revert", "Undo the last change of one entry."),
        "bisect": ("interfaces.cli.commands.bisect:bisect", "Find the commit that changed what the prompt says."),
    },
    "Safety and health": {
        "pull": ("interfaces.cli.commands.pull:pull", "Merge another clone of this home."),
        "share": ("interfaces.cli.commands.share:share", "Let several agents share project folders."),
        "trust": ("interfaces.cli.commands.trust:trust", "Decide what pulled files may do here."),
        "guard": ("interfaces.cli.commands.guard:guard", "Scan texts and commits for secrets and attacks."),
        "check": ("interfaces.cli.commands.check:check", "List every place in the home that breaks a rule."),
        "doctor": ("interfaces.cli.commands.doctor:doctor", "Check everything the home needs to work."),
        "backup": ("interfaces.cli.commands.backup:backup", "Copy the whole home into a folder, or check the copy."),
        "restore-home": ("interfaces.cli.commands.backup:restore_home", "Make a home again from a backup."),
    },
    "Hosts and programs": {
        "install": ("interfaces.cli.commands.install:install", "Let a chat host use this home."),
        "uninstall": ("interfaces.cli.commands.install:uninstall", "Take our hooks out of a chat host's settings."),
        "serve": ("interfaces.cli.commands.serve:serve", "Answer commands from one warm process."),
        "mcp": ("interfaces.cli.commands.mcp:mcp", "Serve memory to a chat host over the Model Context Protocol."),
        "slack": ("interfaces.cli.commands.slack:slack", "Answer in Slack, and turn its threads into memory."),
        "fleet": ("interfaces.cli.commands.fleet:fleet", "Serve many homes on several hosts."),
        "token": ("interfaces.cli.commands.token:token", "Give programs access over HTTP."),
    },
    "Without a folder": {
        "namespaces": (
            "interfaces.cli.commands.namespaces:namespaces",
            "Keep memory of many agents in PostgreSQL.",
        ),
    },
    "Index": {
        "sync": ("interfaces.cli.commands.sync:sync", "Bring the search index up to date."),
        "watch": ("interfaces.cli.commands.watch:watch", "Keep the search index up to date until Ctrl-C."),
        "reindex": ("interfaces.cli.commands.index:reindex", "Rebuild the search index from the files."),
        "index": ("interfaces.cli.commands.index:index", "Inspect the search index."),
        "stores": ("interfaces.cli.commands.stores:stores", "Show where memory is kept beside the files, and move it."),
        "eval": ("interfaces.cli.commands.eval:eval_", "Measure search on questions with known answers."),
    },
    "Plumbing": {
        "hook": ("interfaces.cli.commands.host_hook:hook", "Answer a hook of a chat host."),
        "merge-driver": ("interfaces.cli.commands.merge_driver:merge_driver", "Merge two versions of a memory file."),
    },
}

#: Names of commands of other tools, and the commands here that answer the same question.
OTHER_NAMES = {
    "add": ("remember", "log"),
    "approve": ("review accept",),
    "cat": ("fetch", "history"),
    "create": ("init",),
    "delete": ("forget", "archive"),
    "find": ("search",),
    "get": ("fetch", "context get"),
    "grep": ("search",),
    "health": ("doctor",),
    "logs": ("events",),
    "ls": ("list", "review list"),
    "new": ("init",),
    "note": ("remember",),
    "query": ("search",),
    "recall": ("search", "prompt"),
    "remove": ("forget", "archive"),
    "rm": ("forget", "archive"),
    "save": ("remember", "log"),
    "set": ("context set",),
    "show": ("history", "review show"),
    "store": ("remember", "log"),
    "undo": ("review undo", "revert"),
    "update": ("sync", "pull"),
    "view": ("fetch", "history"),
    "write": ("remember", "log"),
}


@click.command(
    cls=LazyGroup,
    sections=COMMANDS,
    other_names=OTHER_NAMES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    examples=(
        ("Create a home", "memory init ~/agent --name Ada"),
        ("Bring a conversation in and turn it into memory", "memory import chat talk.jsonl"),
        ("Turn everything new into memory", "memory close --all"),
        ("Assemble the prompt for a first message", 'memory prompt --message "Which database do we use?"'),
    ),
)
@no_colours()
@click.version_option(package_name="agent-home", prog_name="memory")
def cli() -> None:
    """Keep the memory of an AI agent as a folder of Markdown in git, and make its prompt."""


def main() -> None:
    """Run ``memory``, as the console script does."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    try:
        cli(prog_name="memory")
    finally:
        gc.freeze()  # at its end the interpreter would look at every object once more, for a tenth of a second
