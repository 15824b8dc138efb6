"""Sessions of coding agents: their steps as seen through hooks, and the stop of a session that is stuck."""
