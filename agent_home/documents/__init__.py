"""Own the Markdown files: blocks, entries, validation, merging and the daily log."""
