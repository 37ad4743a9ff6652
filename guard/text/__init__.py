"""Variants of a text, hidden characters, encoded passages, quotations and keywords."""
