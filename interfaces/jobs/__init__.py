"""Runs of commands with memory: the child process, the file of its prompt, and what is kept of it."""
