"""`liza run`: an agent's command in a loop, and the outcome of each iteration."""
