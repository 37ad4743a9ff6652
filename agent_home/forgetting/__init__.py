"""Remove a text everywhere: redaction targets, tombstones, erasure from files and from git history."""
