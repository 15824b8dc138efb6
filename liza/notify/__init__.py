"""Notifications to people: a webhook, the desktop, a file."""
