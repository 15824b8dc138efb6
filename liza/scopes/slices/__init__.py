"""Attempts at failing tests: a test that keeps failing stops its slice of work."""
