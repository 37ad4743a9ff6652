"""Define the commands of `memory`, one file for each command or family of commands.

Register a new command in `COMMANDS` of `interfaces/cli/__init__.py`.
"""
