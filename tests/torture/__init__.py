"""Trials that try to lose memory: kills, full disks, power cuts, a person's git, damaged pages, two machines.

``python -m tests.torture`` runs all of them. The tests beside the modules run a few of each.
"""
