"""Trials of the real chat hosts with our hooks."""
