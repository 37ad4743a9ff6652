"""Replay recorded answers through the command interface of a language model.

    python -m bench.recorded.replay FILE.jsonl                     reads a prompt, prints its answer
    python -m bench.recorded.replay FILE.jsonl --ask FOLDER        also writes prompts without an answer to FOLDER
    python -m bench.recorded.replay FILE.jsonl --take FOLDER --by NAME   adds the answers that stand beside them

A recording has one line for each prompt, ``{"prompt": DIGEST, "by": NAME, "answer": TEXT}``. The digest is that of the
prompt with its white space joined. A prompt without an answer ends the command with code 1, so the closing goes on by
rules. To record answers, close the sessions once with ``--ask``, answer each ``DIGEST.prompt`` in
``DIGEST.answer``, and run once with ``--take``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

__all__ = ["answers", "digest", "main"]

_DIGEST_BYTES = 16


def digest(prompt: str) -> str:
    """Return the name of *prompt* in a recording."""
    return hashlib.blake2b(" ".join(prompt.split()).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def answers(path: Path) -> dict[str, str]:
    """Return the recorded answers by digest. A later line replaces an earlier one."""
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return {row["prompt"]: row["answer"] for row in rows}


def main(arguments: list[str] | None = None) -> int:
    """Answer the prompt on standard input, or take answers into the recording. Return the exit code."""
    parser = argparse.ArgumentParser(description="Replay recorded answers of a language model.")
    parser.add_argument("recording", type=Path)
    parser.add_argument("--ask", type=Path, help="folder for prompts without an answer")
    parser.add_argument("--take", type=Path, help="folder with prompts and answers to record")
    parser.add_argument("--by", default="", help="who answered")
    options = parser.parse_args(arguments)
    if options.take:
        return _take(options.recording, options.take, options.by)
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    name = digest(prompt)
    answer = answers(options.recording).get(name)
    if answer is None:
        if options.ask:
            options.ask.mkdir(parents=True, exist_ok=True)
            (options.ask / f"{name}.prompt").write_text(prompt, encoding="utf-8")
        print(f"no recorded answer for prompt {name}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(answer.encode("utf-8", "replace"))
    return 0


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
            rows.append({"prompt": path.stem, "by": by, "answer": answer.read_text(encoding="utf-8")})
    with recording.open("a", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(rows)} answers recorded, {missing} prompts without an answer")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
