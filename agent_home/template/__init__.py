"""The files a new home starts with."""
