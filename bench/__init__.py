"""Reproducible measurements. Run from a checkout: `python -m bench`."""
