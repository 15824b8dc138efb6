"""OpenTelemetry: trips and sessions as spans and logs, to the endpoint that the environment names; off without one.

Only the standard library and the daemon's own facts are used until `export.py` is loaded, which needs the extra.
"""
