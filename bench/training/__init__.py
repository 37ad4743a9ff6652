"""Training of the weights that the program ships: each script writes one file."""
