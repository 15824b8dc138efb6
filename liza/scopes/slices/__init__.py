"""Attempts at failing tests: a test that fails again and again stops its slice of work."""
