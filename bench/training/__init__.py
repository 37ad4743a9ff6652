"""Train the weights that the program ships. Each script writes one file."""
