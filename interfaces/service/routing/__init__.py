"""Requests for homes of a fleet: which home one names, and which host answers it."""
