"""What happens when a rule matches: the check, the trip, the report, the resolution, the history."""
