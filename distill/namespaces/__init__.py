"""Turn the log of a namespace into memories: reading, promotion, merging, forgetting, and when each of them runs."""
