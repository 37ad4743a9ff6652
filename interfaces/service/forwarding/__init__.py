"""Commands that a warm process runs for another one, over the socket of the home."""
