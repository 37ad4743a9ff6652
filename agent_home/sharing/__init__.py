"""Project folders that several agents share: what is one, how its files are written, what keeps it from being used."""
