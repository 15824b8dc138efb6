"""Loops that go nowhere: recording iterations and judging them."""
