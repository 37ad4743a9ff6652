"""Ask a configured language model, within a daily token budget. By default none is configured."""
