"""What holds for every scope (the sprint, a session, a loop, a slice, a claim), through the commands alone.

`scopes.py` names the commands that record, ask and decide in each scope; the tests are the same for all. No module of
liza is imported here, so the code behind the commands may be rearranged.
"""
