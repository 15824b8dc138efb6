"""Hostile agents: each test attacks a blackboard as an agent could, and looks at the effect.

`make attack` runs them all and prints a table: attack, what was seen to hold, time, memory.
"""
