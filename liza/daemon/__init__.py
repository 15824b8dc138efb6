"""The daemon: it sees every change of the blackboard, and judges it as `liza analyze` does."""
