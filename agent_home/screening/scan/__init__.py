"""Scans of a whole home, its history and a commit that is being made."""
