"""Checkpoints: what an agent needs after its context was reset, by reference."""
