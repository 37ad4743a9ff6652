"""Measure what memory keeps of conversations: ``python -m bench.memory --data FOLDER [--only PART ...]``."""
