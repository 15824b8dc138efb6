"""liza, the circuit breaker for teams of coding agents.

    liza.analyze()                      check the blackboard for systemic patterns, once
    liza.record("retry_loop", ...)      put an anomaly on it
    liza.gate()                         may work go on?
    liza.loop("coder-1")                a loop that ends when it is completed, stuck or halted
    liza.resolve("ADR-003", by="ann")   a human's decision

Kept empty of imports on purpose: every command of every agent's hook pays for what stands here. The functions are in
`liza.api`, which is imported when one of them is asked for.
"""

__version__ = "0.1.0"
__all__ = ["LizaError", "Loop", "__version__", "analyze", "gate", "loop", "record", "resolve"]

TYPE_CHECKING = False  # not typing's, which costs more than all that stands here
if TYPE_CHECKING:
    from liza.api import LizaError, Loop, analyze, gate, loop, record, resolve
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'liza' has no attribute {name!r}")
        from importlib import import_module

        globals()[name] = found = getattr(import_module("liza.api"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
