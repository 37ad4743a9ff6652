"""Measurements of external memory: what outputs by reference save and cost."""
