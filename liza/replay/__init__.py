"""Trying rules out: cases with their own time, what a rule saw and missed, and a sprint played back."""
