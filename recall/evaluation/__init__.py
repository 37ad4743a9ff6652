"""Measure recall against questions with known answers."""
