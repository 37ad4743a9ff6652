"""Measure namespaces: many small ones, sessions from end to end, and whether an answer has what was asked for."""
