"""Own the readings of a text: canonical forms, hidden characters, encoded passages, quotations and keywords."""
