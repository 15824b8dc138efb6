"""Telling people who are not looking: a webhook, the desktop, a file."""
