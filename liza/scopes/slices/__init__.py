"""Work on a test that does not converge: attempts are recorded, judged at once, and the slice is stopped."""
