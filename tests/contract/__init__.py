"""What holds for every scope (the sprint, a loop, a slice, a claim), seen through the commands alone.

A scope says in `scopes.py` which commands record, ask and decide; the tests are the same for all. Nothing here knows
a module of liza, so all of it may be rearranged behind the commands.
"""
