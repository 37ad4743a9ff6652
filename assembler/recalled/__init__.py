"""Layers 2 to 4 of the prompt: the searches, and the blocks that show what was found."""
