"""Read single statements: sentences, names, topics, contradiction and grounding."""
