"""A trained model of what one statement does to another."""
