"""Summarise a session: typed items, selected lines and the section for the daily log."""
