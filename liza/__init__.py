"""liza, the circuit breaker for teams of coding agents.

Kept empty of imports on purpose: every command of every agent's hook pays for what stands here.
"""

__version__ = "0.1.0"
