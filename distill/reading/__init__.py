"""Reading of sentences: what a speaker says on purpose, and what a trained classifier finds worth keeping."""
