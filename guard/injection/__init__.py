"""Find instructions to the reader's assistant in text that is only data, by rules and by a trained classifier."""
