"""Coding agent programs: what each gives liza, and what stops it."""
