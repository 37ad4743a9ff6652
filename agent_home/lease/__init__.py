"""Own the lease of a home that a fleet of hosts serves: who may write now, and when a write counts as stored.

A home without a lease record is no fleet's, and nothing here changes how it is written.
"""
