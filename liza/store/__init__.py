"""The files: finding, locking, reading, cutting into spans and writing them.

Imports nothing: `liza log anomaly` runs many times a minute and loads only the modules it uses.
"""
