"""Own how errors become HTTP answers: a status, one sentence, and nothing of the content."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from pathlib import Path

from interfaces.cli.exit_codes import exit_code

__all__ = ["LOGGER", "HttpProblem", "log_defect", "problem_of"]

#: One line of JSON for each request that is no command: no text, no name of a session, no query.
LOGGER = logging.getLogger("agent_home.service")
_LOGGED_FRAMES = 5

#: Status of each exit code of the command line (``interfaces.cli.exit_codes``).
_STATUS: Mapping[int, int] = {1: 409, 2: 404, 3: 404, 4: 422, 5: 503, 6: 503, 7: 409, 8: 503}
_RETRY_S = 2
#: Errors that say that something cannot be done with what is there.
_CONFLICTS = frozenset({"NotAllowed", "NotLive", "NotShown"})


class HttpProblem(Exception):
    """A request that is not answered as asked. The message is for the one who asks."""

    def __init__(self, status: int, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})


#: What a caller is told who may not know what is in memory: the messages of errors name sessions and entries.
_PRIVATE: Mapping[int, str] = {
    404: "there is no such thing",
    409: "not possible as things are",
    422: "a value was refused",
    429: "too many texts of this token wait for a person",
    503: "not possible now. Ask again",
}


def problem_of(error: Exception, *, private: bool = False) -> HttpProblem:
    """Return *error* as a problem. One that is no error of this project says only what kind it is.

    With *private*, the message says nothing of what the home holds.
    """
    if isinstance(error, HttpProblem):
        return error
    code = exit_code(error)
    if code is None:
        if type(error) is ValueError:
            return HttpProblem(422, _PRIVATE[422] if private else " ".join(str(error).split()))
        return HttpProblem(500, f"internal error, {type(error).__name__}. The log of the service has its request id")
    name = type(error).__name__
    status = 429 if name == "TooManyWaiting" else _STATUS.get(code, 500)
    if status == 404 and not name.startswith("NoSuch"):
        status = 409 if name in _CONFLICTS else 422
    headers = {"Retry-After": str(_RETRY_S)} if status == 503 else None
    text = _PRIVATE.get(status, "it failed") if private else " ".join(str(error).split())
    return HttpProblem(status, text, headers=headers)


def log_defect(error: Exception, request_id: str) -> None:
    """Write the kind and the places of *error* into the log. Its message may hold memory.

    *request_id* is that of the request or the job.
    """
    frames = traceback.extract_tb(error.__traceback__)[-_LOGGED_FRAMES:]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    line = {"request": request_id, "error": type(error).__name__, "at": places}
    LOGGER.error("%s", json.dumps(line))
