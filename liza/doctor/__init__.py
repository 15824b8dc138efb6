"""Whether liza can do its work here: the blackboard, the daemon, the machine, and what is installed."""
