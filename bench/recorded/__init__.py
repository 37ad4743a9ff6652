"""Answers that somebody gave to prompts of the product, kept so that a measurement can be repeated without a model."""
