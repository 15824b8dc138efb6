"""Loops that make no progress: every iteration is recorded and evaluated at once, and a stuck loop is opened."""
