"""Define the commands of `memory`, one file for each command or family of commands."""
