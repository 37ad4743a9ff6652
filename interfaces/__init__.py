"""Ways in from outside. Each parses its input, calls one function and renders the result."""
