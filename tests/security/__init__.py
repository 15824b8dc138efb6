"""Hostile agents: each test attacks a blackboard as an agent could, and checks the effect.

`make attack` runs them all and prints a table: attack, result, time, memory, verified effect.
"""
