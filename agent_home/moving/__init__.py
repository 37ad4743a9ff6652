"""Homes of a fleet on their way from host to host: the arrival from the remote, and the departure."""
