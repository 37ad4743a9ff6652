"""Find credentials: published formats, assignments to telling names, and passwords in prose."""
