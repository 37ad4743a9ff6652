"""Define ``memory export``."""

from __future__ import annotations

import click

from agent_home.audience import Audience
from agent_home.home import MEMORY

from ..invocation import Invocation, home_command

__all__ = ["export"]


@home_command(
    "export",
    examples=(
        ("Make a ConfigMap for kubectl apply -f", "memory export --configmap"),
        ("Name the instance and its namespace", "memory export --configmap --instance watchdog --namespace ops"),
    ),
)
@click.option("--configmap", is_flag=True, help="As the manifest of the ConfigMap INSTANCE-memory.")
@click.option("--instance", default="", metavar="NAME", help="Name of the instance (default: the agent's name).")
@click.option("--namespace", default="", metavar="NAME", help="Namespace of the ConfigMap.")
@click.option(
    "--audience", default="job", show_default=True, type=click.Choice([str(name) for name in Audience]),
    help="Who reads it.",
)  # fmt: skip
def export(invocation: Invocation, configmap: bool, instance: str, namespace: str, audience: str) -> None:
    """Print MEMORY.md as another system keeps it.

    Texts that the guard keeps out of prompts are left out here as well. A ConfigMap holds 1 MB. A pod mounts it at
    /memory/MEMORY.md, and `memory import configmap` reads it back.
    """
    from agent_home.imports.configmap import instance_name, render_configmap
    from assembler.file_screening import FileScreening
    from assembler.sources import Sources

    home = invocation.home
    memory = Sources(home, audience, FileScreening(home)).read(MEMORY)
    if memory.reason:
        raise click.UsageError(f"{MEMORY}: {memory.reason}")
    if not configmap:
        invocation.show_text({"text": memory.text}, memory.text)
        return
    try:
        text = render_configmap(instance or instance_name(home.manifest.name), memory.text, namespace=namespace)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    invocation.show_text({"manifest": text}, text)
