"""Loops that go nowhere: iterations are recorded, judged at once, and a loop that does not get on is opened."""
