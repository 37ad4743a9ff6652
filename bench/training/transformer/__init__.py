"""Training of the small transformer behind the guard's second reading. It needs PyTorch, which nothing else does."""
