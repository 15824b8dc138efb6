"""Git: snapshots of a work tree, what changed in it, and rollback."""
