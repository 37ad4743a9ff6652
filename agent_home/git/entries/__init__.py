"""Entries in git's history: the commits that touched them, read for one entry or for all at once."""
