"""The chat hosts that agents live in: their hooks, what they get at the start, what is kept of them at the end."""
