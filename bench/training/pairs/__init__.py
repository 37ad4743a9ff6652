"""Train models that relate two statements."""
