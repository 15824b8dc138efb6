"""What counts as a pattern: the condition language, what "same" and "similar" mean, and the packs of rules."""
