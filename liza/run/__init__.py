"""`liza run`: an agent's command again and again, and what each time came of it."""
