"""The state of a blackboard as numbers for Prometheus: on `liza serve`, and in a file for node_exporter."""
