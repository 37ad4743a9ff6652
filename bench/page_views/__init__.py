"""Measurement of the views of the page."""
