"""Own the home's git repository: commits, objects, hooks and the merge driver."""
