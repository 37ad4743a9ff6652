"""Find instructions in text that is only data: explicit attacks, and requests from strangers."""
