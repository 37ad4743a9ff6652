"""Answer questions from the index: retrievers, reranking, duplicates and supersession."""
