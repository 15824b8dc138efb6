"""liza, the circuit breaker for teams of coding agents.

    liza.analyze()                      check the blackboard for systemic patterns, once
    liza.record("retry_loop", ...)      record an anomaly
    liza.gate()                         may work continue?
    liza.loop("coder-1")                a loop that ends when it is completed, stuck or halted
    liza.resolve("ADR-003", by="ann")   record a person's decision

Imports nothing on purpose: every call of every agent's hook would pay for it. The functions are in `liza.api`, which is
imported on first use.
"""

__version__ = "0.1.0"
__all__ = ["LizaError", "Loop", "__version__", "analyze", "gate", "loop", "record", "resolve"]

TYPE_CHECKING = False  # not typing's, which takes longer to import than this whole module
if TYPE_CHECKING:
    from liza.api import LizaError, Loop, analyze, gate, loop, record, resolve
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'liza' has no attribute {name!r}")
        from importlib import import_module

        from liza.errors import require_posix

        require_posix()
        globals()[name] = found = getattr(import_module("liza.api"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
