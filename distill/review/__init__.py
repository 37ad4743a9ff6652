"""Own what waits for a person: proposals, quarantined texts and reverts."""
