"""Compare the text of an entry with the turns that it cites."""
