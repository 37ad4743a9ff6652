"""Replay recorded answers through the command interface of a language model.

    python -m bench.recorded.replay FILE.jsonl                     reads a prompt, prints its answer
    python -m bench.recorded.replay FILE.jsonl --ask FOLDER        also writes prompts without an answer to FOLDER
    python -m bench.recorded.replay FILE.jsonl --ask FOLDER --wait SECONDS   then waits for the answer
    python -m bench.recorded.replay FILE.jsonl --take FOLDER --by NAME   adds the answers that stand beside them

A recording has one line for each prompt, ``{"prompt": DIGEST, "turns": DIGEST, "by": NAME, "answer": TEXT}``. The
digests are those of the prompt and of its turns, with their white space joined. Where nobody answered exactly this
prompt, the answer for the same turns beside other entries counts. A prompt without an answer ends the command with
code 1.

A later prompt shows what earlier answers entered. To record a week, measure it with ``--ask`` and ``--wait``, answer
each ``DIGEST.prompt`` in ``DIGEST.answer`` when it appears, and run once with ``--take``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path

__all__ = ["answers", "digest", "main", "turns_digest"]

_DIGEST_BYTES = 16
_PAUSE_S = 0.5


def digest(prompt: str) -> str:
    """Return the name of *prompt* in a recording."""
    return hashlib.blake2b(" ".join(prompt.split()).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def turns_digest(prompt: str) -> str:
    """Return the name of the turns of *prompt*, without the entries beside them. A prompt without turns has none."""
    start = prompt.find("\n<turns>\n")
    end = prompt.find("\n</turns>\n", start)
    if not 0 <= start < end:
        return ""
    again = not prompt[end:].startswith("\n</turns>\n\n<entries>")  # a second question about the same turns
    return digest(f"{prompt[start:end]} {'again' if again else ''}")


def answers(path: Path) -> dict[str, str]:
    """Return the recorded answers by both digests. A later line replaces an earlier one."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    by_turns = {row["turns"]: row["answer"] for row in rows if row.get("turns")}
    return by_turns | {row["prompt"]: row["answer"] for row in rows}


def main(arguments: list[str] | None = None) -> int:
    """Answer the prompt on standard input, or take answers into the recording. Return the exit code."""
    parser = argparse.ArgumentParser(description="Replay recorded answers of a language model.")
    parser.add_argument("recording", type=Path)
    parser.add_argument("--ask", type=Path, help="folder for prompts without an answer")
    parser.add_argument("--wait", type=float, default=0, help="seconds to wait for an answer in the folder of --ask")
    parser.add_argument("--take", type=Path, help="folder with prompts and answers to record")
    parser.add_argument("--by", default="", help="who answered")
    options = parser.parse_args(arguments)
    if options.take:
        return _take(options.recording, options.take, options.by)
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    name = digest(prompt)
    known = answers(options.recording)
    answer = known.get(name) or known.get(turns_digest(prompt))
    if answer is None and options.ask:
        answer = _ask(options.ask, name, prompt, options.wait)
    if answer is None:
        print(f"no recorded answer for prompt {name}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(answer.encode("utf-8", "replace"))
    return 0


def _ask(folder: Path, name: str, prompt: str, wait_s: float) -> str | None:
    """Write *prompt* to *folder* and return the answer that stands there within *wait_s* seconds, or ``None``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.prompt"
    if not path.exists():
        path.write_text(prompt, encoding="utf-8")
    deadline = time.monotonic() + wait_s
    while True:
        answer = path.with_suffix(".answer")
        if answer.exists() and (text := answer.read_text(encoding="utf-8")).strip():
            return text
        if time.monotonic() >= deadline:
            return None
        time.sleep(_PAUSE_S)


def _take(recording: Path, folder: Path, by: str) -> int:
    """Add the answers in *folder* to *recording*. Return 1 if a prompt there has none."""
    if not by:
        print("--by is missing: name who answered", file=sys.stderr)
        return 2
    known, missing = answers(recording), 0
    rows = []
    for path in sorted(folder.glob("*.prompt")):
        answer = path.with_suffix(".answer")
        if not answer.exists():
            missing += 1
        elif path.stem not in known:
            prompt = path.read_text(encoding="utf-8")
            text = answer.read_text(encoding="utf-8")
            rows.append({"prompt": path.stem, "turns": turns_digest(prompt), "by": by, "answer": text})
    with recording.open("a", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(rows)} answers recorded, {missing} prompts without an answer")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
