"""Fleets of real processes: hosts in networks that can be cut, a registry, git remotes, clients, and proofs."""
