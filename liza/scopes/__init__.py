"""What a trip stops: the sprint, which is everyone, or one session, claim, slice or loop while the rest continues."""
