"""Running processes of git: their limits and their output."""
