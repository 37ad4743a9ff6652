"""Measurements of hot state in a file of the machine and in Redis."""
