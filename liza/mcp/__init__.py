"""Tools for agents over the Model Context Protocol: to report, to ask, and to read decisions; none that resolves."""
