"""Figures about liza, each a ratio measured side by side in one run.

Times differ between machines and between two runs on a busy one; a ratio of two things that ran in turn, each at its
best of many rounds, is stable. Run with: python -m benchmarks [NAME ...]
"""
