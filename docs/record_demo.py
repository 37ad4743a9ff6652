"""Record the terminal session of the README as an animated SVG: ``python docs/record_demo.py``.

Every command runs for real, in a temporary folder, on the coding session of ``make demo``. The output is cut to the
lines that a reader needs, and each cut is marked. The picture is written to ``docs/images/demo.svg``.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PICTURE = ROOT / "docs" / "images" / "demo.svg"
WIDTH = 112
#: Seconds before a command appears, and between two lines of its output.
PAUSE_S, LINE_S = 1.4, 0.07
THEME = TerminalTheme(
    (13, 17, 23), (201, 209, 217),
    [(72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34), (88, 166, 255), (188, 140, 255), (57, 197, 207),
     (177, 186, 196)],
)  # fmt: skip
#: The command as a reader types it, and how many lines of its output to keep; ``None`` keeps all.
COMMANDS: list[tuple[str, int | None]] = [
    ("memory init ada --name Ada", None),
    ("memory import claude-code session.jsonl --home ada", None),
    ("memory close --all --home ada", None),
    ("git -C ada log --format='%h %s' -2", None),
    ("memory search 'how are totals rounded' -k 1 --in memory --home ada", None),
    ("memory prompt --home ada --message 'What is left to do on the invoice parser?' | grep OT-", None),
]


def main() -> int:
    """Run the commands, render the picture, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        transcript = record(Path(folder))
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    for line in transcript:
        console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    PICTURE.write_text(animated(console.export_svg(title="agent-home", theme=THEME), transcript), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
    return 0


def record(folder: Path) -> list[Text]:
    """Run every command in *folder* and return the lines of the terminal, commands first."""
    from bench import demo_data

    moment = datetime.now().astimezone()
    facts = demo_data.make_repository(folder / "invoices", moment)
    values = {**demo_data.planted(), **demo_data.dates(moment), **facts, "repo": str(folder / "invoices")}
    session = "\n".join(demo_data.load(demo_data.CODING_SESSION, values)) + "\n"
    (folder / "session.jsonl").write_text(session, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    lines: list[Text] = []
    for command, most in COMMANDS:
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        output = done.stdout.rstrip().replace(str(folder.resolve()), "~").replace(str(folder), "~").splitlines()
        shown = output if most is None or len(output) <= most else [*output[:most], "..."]
        lines += [Text.assemble(("$ ", "bold green"), (command, "bold")), *map(styled, shown), Text()]
    return lines[:-1]


def styled(line: str) -> Text:
    """Return *line* with entry ids and evidence coloured."""
    text = Text(line)
    text.highlight_regex(r"\[[A-Z]{2}-[0-9A-Z]{4}\]", "cyan")
    text.highlight_regex(r"\(verified\)", "green")
    text.highlight_regex(r"not remembered, because git contradicts it", "yellow")
    return text


def animated(picture: str, lines: list[Text]) -> str:
    """Return rich's *picture* with lines that appear in turn, and without its web fonts.

    Viewers that run no animation, and readers who asked for less motion, see the finished session.
    """
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL).replace("Fira Code", "ui-monospace")
    rules, clock = [], 0.3
    for number, line in enumerate(lines):
        clock += PAUSE_S if line.plain.startswith("$ ") and number else LINE_S
        rules.append(f'[clip-path$="-line-{number})"] {{ animation: appear 1ms {clock:.2f}s backwards; }}')
    motion = "@keyframes appear { from { opacity: 0; } to { opacity: 1; } }\n" + "\n".join(rules)
    style = f"<style>\n@media (prefers-reduced-motion: no-preference) {{\n{motion}\n}}\n</style>"
    return picture.replace("</defs>", f"</defs>\n{style}", 1)


if __name__ == "__main__":
    sys.exit(main())
