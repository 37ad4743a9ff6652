"""Run the main job end to end, with the commands that a user would type: ``python -m bench.demo FOLDER``.

Makes a home, imports two conversations, closes them into memory commits, and assembles the prompt for a question about
yesterday. Then it checks four claims. The answer is in the prompt. The corrected conclusion is in its memory section,
and the outdated one is not. The false claim is not in memory. The planted key and telephone number are in no file, no
git object and no index row, except that the owner's quarantine keeps the message with the number for a time. The exit
code is 1 when a claim fails.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from bench import demo_data

QUESTION = "昨天 forecast gap 的结论是什么?哪几个 BU 风险最大?"
#: Texts that the prompt must hold: the gap, the deal, and the correction of the user.
WANTED = ("-12 %", "¥2.1M", "Corvid 这单不是 APX 的,而是 NORDA 的")
#: The conclusion after the correction, and what the assistant said before it.
CORRECTED = "其次 APX(-7 %)和 NORDA(-4 %)"
OUTDATED = ("都算在 APX 头上", "APX 吃掉了全部缺口")
MARKER = ".agent-home-demo"
console = Console(highlight=False, soft_wrap=True)


def main(arguments: Sequence[str]) -> int:
    """Run the demo in the folder that *arguments* name and return the exit code."""
    started = time.monotonic()
    top = Path(arguments[0] if arguments else "demo-home").absolute()
    _clear(top)
    home, repository = top / "home", top / "invoices"
    now = datetime.now().astimezone()
    secrets = demo_data.planted()
    facts = demo_data.make_repository(repository, now)
    values = {**secrets, **demo_data.dates(now), **facts, "repo": str(repository)}

    _step("The embedding model, written once from its published weights")
    _memory("model", "build")
    _step("A home: Markdown in git")
    _memory("init", str(home), "--name", "Ada", "--seed", "Answer in the language of the question")
    _step("A document: put Markdown into Knowledge/ and it is found")
    shutil.copy(Path(demo_data.__file__).parent / "forecast-rules.md", home / "Knowledge")
    _memory("sync", "--home", str(home))
    _step("Two conversations: yesterday's forecast review, and a coding session")
    with tempfile.TemporaryDirectory() as folder:
        chat, coding = (
            _written(Path(folder), name, values) for name in (demo_data.FORECAST_REVIEW, demo_data.CODING_SESSION)
        )
        _memory("import", "chat", str(chat), "--home", str(home))
        _memory("import", "claude-code", str(coding), "--home", str(home))
    _step("Closing: each conversation becomes a daily section and sourced entries, in one commit each")
    _memory("close", "--all", "--home", str(home))
    _step("What a person reviews")
    _run("git", "-C", str(home), "--no-pager", "log", "--stat", "--format=%h %s%n%(trailers)")
    _run("git", "-C", str(home), "--no-pager", "diff", "HEAD~2", "HEAD", "--", "MEMORY.md")
    _step(f"The system prompt for «{QUESTION}»")
    ask = ("prompt", "--home", str(home), "--message", QUESTION)
    prompt = _memory(*ask, "--explain")
    _step("The same for a model with a small window: MEMORY.md goes progressive (layer 2)")
    small = _memory(*ask, "--window", "32000", "--explain", quiet=True)
    _step("Is it so?")
    failures = [
        *_missing(prompt),
        *_missing(small),
        *outdated_memory(prompt),
        *_leaks(home, secrets),
        *_false_claim(home),
    ]
    for failure in failures:
        console.print(f"[red]not so:[/red] {failure}", markup=True)
    if not failures:
        console.print("The prompt holds the -12 %, the ¥2.1M deal and the correction; its memory holds the corrected")
        console.print("conclusion and not the outdated one; the false claim did not become memory; the planted key and")
        console.print("phone number are in no file, no git object, no index row. `memory review originals` alone has")
        console.print("the message with the number, for thirty days.")
    console.print(f"\n{time.monotonic() - started:.0f} s. The home is {home}: read MEMORY.md, `git log`, or ask it:")
    console.print(f"  .venv/bin/memory search 预算冻结 --home {home}", markup=False)
    return 1 if failures else 0


def _clear(top: Path) -> None:
    """Start anew, but only in a folder that an earlier demo made."""
    if top.exists() and any(top.iterdir()) and not (top / MARKER).exists():
        raise SystemExit(f"{top} is not empty and was not made by this demo; name another folder")
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir(parents=True)
    (top / MARKER).write_text("Made by `make demo`, which deletes this folder when it runs again.\n", encoding="utf-8")


def _written(folder: Path, name: str, values: dict[str, str]) -> Path:
    path = folder / name
    path.write_text("\n".join(demo_data.load(name, values)) + "\n", encoding="utf-8")
    return path


def _step(title: str) -> None:
    console.print()
    console.print(Rule(title, align="left"))


def _memory(*arguments: str, quiet: bool = False) -> str:
    return _run(str(Path(sys.executable).parent / "memory"), *arguments, shown="memory", quiet=quiet)


def _run(program: str, *arguments: str, shown: str = "", quiet: bool = False) -> str:
    """Run a command as a user would, show it, and return what it printed. *quiet* leaves its output to the caller."""
    console.print(f"[bold]$ {shown or program} [/bold]", end="")
    console.print(shlex.join(arguments), markup=False)
    sys.stdout.flush()
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    if not quiet:
        console.print(done.stdout.rstrip(), markup=False)
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{shown or program} {arguments[0]} ended with exit code {done.returncode}")
    return done.stdout


def _missing(prompt: str) -> Iterator[str]:
    for text in WANTED:
        if text not in prompt:
            yield f"the prompt does not hold {text!r}"


def outdated_memory(prompt: str) -> Iterator[str]:
    """Yield what is wrong with the section of ``MEMORY.md`` in *prompt*: a missing conclusion, and outdated ones."""
    section = prompt.partition("\n# Memory\n")[2].partition("\n# ")[0].partition("\n<")[0]
    if CORRECTED not in section:
        yield f"the memory section does not hold the corrected conclusion {CORRECTED!r}"
    for text in OUTDATED:
        if text in section:
            yield f"the memory section holds the outdated {text!r}"


def _leaks(home: Path, secrets: Mapping[str, str]) -> Iterator[str]:
    """Yield places under *home* that hold a planted secret: files, the index among them, and git objects.

    Originals of messages that lost nothing but personal data may hold the telephone number.
    """
    needles = [secret.encode() for secret in secrets.values()]
    for path in sorted(home.rglob("*")):
        is_original = path.parent.name == "quarantine" and path.name.startswith("o-")
        looked_for = [secrets["api_key"].encode()] if is_original else needles
        if path.is_file() and any(needle in path.read_bytes() for needle in looked_for):
            yield f"{path} holds a planted secret"
    listed = subprocess.run(
        ["git", "-C", str(home), "cat-file", "--batch-all-objects", "--batch"], stdout=subprocess.PIPE, check=True
    ).stdout
    if any(needle in listed for needle in needles):
        yield "a git object holds a planted secret"


def _false_claim(home: Path) -> Iterator[str]:
    if "legacy_rounding.py" in (home / "MEMORY.md").read_text(encoding="utf-8"):
        yield "MEMORY.md holds the claim that legacy_rounding.py was deleted, which git contradicts"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
