"""The dashboard: one page of what status, sessions and stats know, and the decisions that a person can make there."""
