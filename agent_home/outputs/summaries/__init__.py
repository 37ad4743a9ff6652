"""Summaries of what a tool printed. Pure functions of text: no file, no process and no network."""

from .findings import OutputFailure
from .summariser import OutputSummariser, OutputSummary

__all__ = ["OutputFailure", "OutputSummariser", "OutputSummary"]
