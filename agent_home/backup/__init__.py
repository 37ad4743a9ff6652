"""Backups of a whole home in a folder, with what git does not carry, and homes made again from them."""
