"""Find instructions in text that is only data: explicit attacks, and requests from tools and the web."""
