"""Outputs of tools: what they say in short."""
