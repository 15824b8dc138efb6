"""What a rule does when it matches: the `action` of a rule. A new one also needs the scope that carries it out."""

from enum import StrEnum


class Action(StrEnum):
    """The actions, from the widest to the narrowest effect."""

    CHECKPOINT = "CHECKPOINT"  # halts all agents
    FREEZE = "FREEZE"  # a claim
    STOP = "STOP"  # a slice or a session
    OPEN = "OPEN"  # a loop
    WARN = "WARN"  # a session, in its own conversation
    ALERT = "ALERT"  # only notifies
