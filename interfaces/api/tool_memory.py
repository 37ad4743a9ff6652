"""Own the tool memory in the Python API: what tools returned in a session, newest first.

A result is an output of its tool (``agent_home.outputs``), so the commands list and fetch it as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent_home.clock import now as present
from agent_home.outputs.entry import OutputDamaged
from agent_home.outputs.reading import OutputFilter, output_content, outputs
from agent_home.screening.scan.json_values import json_without_values
from agent_home.screening.service import ScreeningService

from .outputs import Outputs

if TYPE_CHECKING:
    from agent_home.home import Home
    from agent_home.outputs.entry import StoredOutput

__all__ = ["RESULT_TAG", "ToolMemory", "ToolResultRefused"]

#: The tag of an output that is a result in JSON.
RESULT_TAG = "tool-result"
#: Bytes up to which the history gives a result itself. A longer one is a reference.
_MOST_SHOWN = 64 << 10


class ToolResultRefused(ValueError):
    """A result cannot be kept as it is."""


class ToolMemory:
    """The results of tools in a home."""

    def __init__(self, home: Callable[[], Home]) -> None:
        self._home = home

    def save_tool_result(
        self, session_id: str, tool_name: str, result: Mapping[str, Any], *, now: datetime | None = None
    ) -> str:
        """Keep what a tool returned, without secrets and personal data, and return the id of its output.

        Args:
            session_id: the session in which the tool ran.
            tool_name: the tool.
            result: JSON types of any size. ``command`` and ``exit_code`` also become labels of the output.
            now: when it ran.

        Raises:
            ToolResultRefused: *result* is no JSON, or the tool or session has no name.
            GuardRefused: the guard refuses a label, or cannot run. Nothing was stored.
        """
        if not session_id.strip() or not tool_name.strip():
            raise ToolResultRefused("the session and the tool need names")
        moment = now or present()
        if not isinstance(result, Mapping):
            raise ToolResultRefused(f"the result of {tool_name} is {type(result).__name__}. Give a mapping")
        row = {**result, "timestamp": moment.isoformat(), "session_id": session_id}
        try:
            text = json.dumps(row, ensure_ascii=False, indent=1, allow_nan=False)
            if len(text) <= _MOST_SHOWN:  # screened value by value, so that a mark in the place of one leaves JSON
                clean = json_without_values(ScreeningService(self._home()), json.loads(text), "tool")[0]
                text = json.dumps(clean, ensure_ascii=False, indent=1)
        except (TypeError, ValueError, RecursionError) as error:
            raise ToolResultRefused(f"the result of {tool_name} is no JSON: {error}") from error
        command, code = result.get("command"), result.get("exit_code")
        stored = Outputs(self._home).store(
            text, tool=tool_name, session=session_id, tags=(RESULT_TAG,), now=moment,
            command=command if isinstance(command, str) else "",
            exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        )  # fmt: skip
        return stored.id

    def get_tool_history(self, session_id: str, tool_name: str = "", limit: int = 100) -> list[dict[str, Any]]:
        """Return which tools ran in a session and what they returned, newest first, at most *limit*.

        Each row has ``timestamp``, ``session_id``, ``tool_name``, ``command``, ``exit_code``, ``output_id``, ``tokens``
        and ``summary``. A result in JSON of at most 64 KB adds its own keys, and any other is fetched by its id.
        """
        home = self._home()
        found = outputs(home, OutputFilter(session=session_id, tool=tool_name or ""), limit=max(1, limit))
        return [_row(home, output) for output in found if output.tool]


def _row(home: Home, output: StoredOutput) -> dict[str, Any]:
    own = {
        "timestamp": output.ts, "session_id": output.session, "tool_name": output.tool, "command": output.command,
        "exit_code": output.exit_code, "output_id": output.id, "tokens": output.tokens, "summary": output.summary,
    }  # fmt: skip
    result = _result(home, output)
    return {**result, **own, "timestamp": result.get("timestamp", output.ts)}


def _result(home: Home, output: StoredOutput) -> dict[str, Any]:
    if RESULT_TAG not in output.tags or output.length > _MOST_SHOWN:
        return {}
    try:
        result = json.loads(b"".join(output_content(home, output)))
    except OutputDamaged as error:
        return {"damaged": str(error)}
    except ValueError:  # the guard replaced something that held it together
        return {}
    return result if isinstance(result, dict) else {}
