"""Secrets told in sentences: names of credentials, candidates beside them, and the trained models that judge these."""
