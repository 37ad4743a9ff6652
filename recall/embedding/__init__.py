"""Turn text into vectors: the embedding model, its files and its download."""
