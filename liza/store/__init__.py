"""The files: where they are, how they are locked, read, cut into spans and written.

Nothing is imported here: `liza log anomaly` runs many times a minute and loads only the modules it uses.
"""
