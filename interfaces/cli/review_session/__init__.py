"""An interactive review at a terminal: one waiting text at a time, a key for each decision."""
