"""The daemon: it sees every change of the blackboard, and checks it as `liza analyze` does."""
