"""Check claims about work against git and keep the results up to date."""
