"""What may be in a file of the blackboard, and what is wrong with it."""
