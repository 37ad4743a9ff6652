"""Pulls from other clones: what would come in, the merge, and what a person here trusts of it."""
