"""Define ``memory slack``."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from typing import TYPE_CHECKING

import click

from agent_home.audience import Audience

from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command
from ..surroundings import surroundings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interfaces.slack.app import SlackBot, SlackSetup
    from interfaces.slack.responder import Responder

__all__ = ["slack"]

#: Names of the packages that the extra brings. Another missing module is a defect.
_OF_THE_EXTRA = frozenset({"httpx", "slack_bolt", "slack_sdk", "starlette", "uvicorn"})
_BOT, _APP, _SECRET, _API = "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET", "SLACK_API_URL"
#: How the token begins that belongs into the other variable.
_SWAPPED = {_BOT: "xapp-", _APP: "xox"}
_MINUTE_S = 60.0


@home_command(
    "slack",
    examples=(
        ("Print the manifest of the app to make in Slack", "memory slack --manifest"),
        ("Say what the app lacks", "memory slack --check"),
        (
            "Answer over Slack's socket with a model of this machine",
            "memory slack --responder-url http://127.0.0.1:11434/v1 --responder-model llama3.3",
        ),
        ("Answer over HTTP with a command", 'memory slack --http 127.0.0.1:3000 --responder-command "python bot.py"'),
    ),
)
@click.option("--manifest", "show_manifest", is_flag=True, help="Print the app's manifest in YAML, and end.")
@click.option("--url", default="", metavar="URL", help="With --manifest: the address of HTTP, instead of the socket.")
@click.option("--check", is_flag=True, help="Ask Slack what the app lacks, and end.")
@click.option("--owner", default="", metavar="USER", help="The owner's Slack user (default: [owner] accounts).")
@click.option(
    "--audience", "widest", type=click.Choice(["owner", "trusted", "group"]), default="owner", show_default=True,
    help="The audience that no channel exceeds.",
)  # fmt: skip
@click.option("--http", "address", metavar="HOST:PORT", help="Answer HTTP at /slack/events instead of Slack's socket.")
@click.option("--idle-minutes", type=click.FloatRange(min=0.05), default=60.0, show_default=True, metavar="N",
              help="A thread becomes memory after N minutes without a message.")  # fmt: skip
@click.option("--responder-url", default="", metavar="URL", help="A language model with OpenAI's interface.")
@click.option("--responder-model", default="", metavar="NAME", help="The model's name there.")
@click.option("--responder-key-env", default="", metavar="VARIABLE", help="The variable that holds its key.")
@click.option("--responder-command", default="", metavar="COMMAND", help="A command that reads JSON and answers.")
@click.option(
    "--responder-timeout", type=click.FloatRange(min=1), default=120.0, show_default=True, metavar="SECONDS",
    help="Longest time of an answer.",
)  # fmt: skip
@click.pass_context
def slack(
    context: click.Context,
    invocation: Invocation,
    show_manifest: bool,
    url: str,
    check: bool,
    owner: str,
    widest: str,
    address: str | None,
    idle_minutes: float,
    responder_url: str,
    responder_model: str,
    responder_key_env: str,
    responder_command: str,
    responder_timeout: float,
) -> None:
    """Answer in Slack, and turn its threads into memory.

    Each thread is a session. Who reads a channel decides what an answer may use of memory, and that is asked before
    every answer. The owner's direct message sees everything, a private channel of full members what is for people whom
    the owner trusts, every other channel what anybody may read.

    Answers come from a language model (--responder-url) or from a command (--responder-command), which reads a JSON
    object with the keys prompt, thread, session and audience, and prints its answer.

    Tokens come from the environment: SLACK_BOT_TOKEN, with SLACK_APP_TOKEN for the socket or SLACK_SIGNING_SECRET for
    HTTP. docs/slack.md says how to make the app.
    """
    if url and not (show_manifest and url.startswith("https://")):
        raise click.UsageError(
            f"--url is {url!r}. Slack calls an address that begins with https://, named with --manifest"
        )
    _require_extra()
    home, environ = invocation.home, surroundings().environ
    if show_manifest:
        from interfaces.slack.app_manifest import manifest_text

        text = manifest_text(home.manifest.name, url=url)
        invocation.show_text({"manifest": text}, text)
        return
    from interfaces.slack.app import API_URL, SlackSetup, owner_account

    setup = SlackSetup(
        bot_token=_token(environ, _BOT), app_token="" if address else _token(environ, _APP),
        signing_secret=_token(environ, _SECRET) if address else "", owner=owner_account(home, owner),
        widest=Audience(widest), idle_s=idle_minutes * _MINUTE_S, api_url=environ.get(_API) or API_URL,
    )  # fmt: skip
    if check:
        context.exit(_checked(invocation, setup, socket_mode=not address))
    port = _port(address) if address else None
    responder = _responder(
        responder_url, responder_model, responder_key_env, responder_command, responder_timeout, environ
    )
    _serve(invocation, setup, responder, port)


def _require_extra() -> None:
    try:
        importlib.import_module("interfaces.slack.app")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _OF_THE_EXTRA:
            raise
        raise click.ClickException(
            f"`memory slack` needs the package {package}. Install it with: pip install 'agent-home[slack]'"
        ) from error


def _token(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise click.ClickException(f"the environment variable {name} is empty. docs/slack.md says where Slack shows it")
    if name in _SWAPPED and value.startswith(_SWAPPED[name]):
        raise click.ClickException(
            f"{name} has the other token: SLACK_BOT_TOKEN begins with xoxb-, SLACK_APP_TOKEN with xapp-"
        )
    return value


def _port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        raise click.UsageError(f"--http is {address!r}. Write an address and a port, like 127.0.0.1:3000")
    return host.strip("[]") or "127.0.0.1", int(port)


def _responder(
    url: str, model: str, key_env: str, command: str, timeout_s: float, environ: Mapping[str, str]
) -> Responder:
    from distill.language_model.endpoint import Endpoint, EndpointSettings
    from interfaces.slack.responder import CommandResponder, EndpointResponder

    if bool(url) == bool(command):
        raise click.UsageError("give either --responder-url, with --responder-model, or --responder-command")
    if command:
        return CommandResponder(command=command, timeout_s=timeout_s)
    try:
        settings = EndpointSettings(url=url, model=model, key_env=key_env, timeout_s=timeout_s)
    except ValueError as error:
        raise click.UsageError(f"--responder-url and its options: {error}") from error
    endpoint = Endpoint(settings=settings, key=environ.get(key_env, "") if key_env else "")
    endpoint.check()
    return EndpointResponder(endpoint=endpoint)


def _checked(invocation: Invocation, setup: SlackSetup, *, socket_mode: bool) -> int:
    from interfaces.slack.app import slack_client
    from interfaces.slack.app_manifest import checked_app

    found = checked_app(slack_client(setup), setup.app_token, socket_mode=socket_mode)
    problems = [*found.problems, *_owner_problem(setup)]
    data = {"team": found.team_name, "user": found.agent, "owner": setup.owner, "problems": problems}
    lines = [f"connected to {found.team_name} as {found.agent}"] if found.agent else []
    invocation.show(data, [*lines, *problems] if problems else [*lines, "nothing is missing"])
    return FINDINGS if problems else 0


def _owner_problem(setup: SlackSetup) -> list[str]:
    if setup.owner:
        return []
    advice = "Name your Slack user: `memory init HOME --account U012AB3CD`, or --owner"
    return [f"nobody in Slack is the owner, so every channel is one that anybody may read. {advice}"]


def _serve(invocation: Invocation, setup: SlackSetup, responder: Responder, port: tuple[str, int] | None) -> None:
    from interfaces.slack.app import slack_bot, stop_at_signals
    from interfaces.slack.door import LOGGER

    if not LOGGER.handlers:
        LOGGER.addHandler(logging.StreamHandler(sys.stderr))
        LOGGER.propagate = False
    with slack_bot(invocation.home, setup, responder, socket_mode=port is None) as bot:
        for problem in (*bot.problems, *_owner_problem(setup)):
            invocation.warn(problem)
        if port is not None:
            bot.serve_http(port, ready=lambda number: _show(invocation, bot, f"http://{port[0]}:{number}/slack/events"))
            return
        stop = threading.Event()
        stop_at_signals(stop)
        bot.serve_socket(stop, ready=lambda: _show(invocation, bot, "Slack's socket"))


def _show(invocation: Invocation, bot: SlackBot, place: str) -> None:
    root = str(invocation.home.root)
    invocation.show(
        {"home": root, "team": bot.team_name, "place": place}, [f"{root} answers in {bot.team_name} over {place}"]
    )
