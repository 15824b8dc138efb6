"""What a client reports to have used: tokens by kind, the model, and the cost where it gives one."""

from collections.abc import Mapping
from typing import Any, NamedTuple

_MOST = 10**12  # of anything that is counted


class Usage(NamedTuple):
    """One entry. `tokens_in` has all that the model read, `tokens_cached` the part of it that came from a cache, and
    `tokens_cache_written` the part that was put into one."""

    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    model: str | None = None
    cost: float | None = None  # in US dollars
    tokens_cache_written: int = 0
    id: str | None = None  # of the answer that used it: what is reported again under it takes the place of the first

    def plus(self, other: "Usage") -> "Usage":
        """Both together."""
        cost = None if self.cost is None and other.cost is None else (self.cost or 0.0) + (other.cost or 0.0)
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.tokens_cached + other.tokens_cached,
            other.model or self.model,
            cost,
            self.tokens_cache_written + other.tokens_cache_written,
        )

    def as_fields(self) -> dict[str, Any]:
        """The fields of the stream `usage`."""
        found = {**self._asdict(), "tokens": self.tokens_in + self.tokens_out}
        return {key: value for key, value in found.items() if value is not None}


def read_usage(value: Any, model: Any = None, cost: Any = None) -> Usage | None:
    """The `usage` object of Claude's and OpenAI's formats; None where it has no count of tokens.

    Claude counts what it reads from a cache beside the input, OpenAI as a part of it.
    """
    counted = {name: value[name] for name in _NAMES if _is_count(value.get(name))} if isinstance(value, Mapping) else {}
    if not counted:
        return None
    given: dict[str, int] = {**dict.fromkeys(_NAMES, 0), **counted}
    beside = given["cache_read_input_tokens"] + given["cache_creation_input_tokens"]
    return Usage(
        tokens_in=given["input_tokens"] + beside,
        tokens_out=given["output_tokens"],
        tokens_cached=given["cache_read_input_tokens"] + given["cached_input_tokens"],
        model=model if isinstance(model, str) and model else None,
        cost=cost_or_none(cost),
        tokens_cache_written=given["cache_creation_input_tokens"],
    )


_NAMES = (
    "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cached_input_tokens",
)  # fmt: skip


def cost_or_none(cost: Any) -> float | None:
    """A cost in US dollars as a client gives it; None for anything else."""
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < _MOST
    return float(cost) if is_cost else None


def read_tokens(value: Any, model: Any = None, cost: Any = None) -> Usage | None:
    """The `tokens` object of opencode; None where it has no count. A cost of 0 is that of a model without a price."""
    given: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    cache = given.get("cache")
    beside: Mapping[str, Any] = cache if isinstance(cache, Mapping) else {}
    plain, out, thought = (_count(given.get(name)) for name in ("input", "output", "reasoning"))
    read, written = _count(beside.get("read")), _count(beside.get("write"))
    if not (plain or out or thought or read or written):
        return None
    name = model if isinstance(model, str) and model else None
    return Usage(plain + read + written, out + thought, read, name, cost_or_none(cost) or None, written)


def read_counts(given: Any, names: tuple[str, str, str, str], model: Any) -> Usage | None:
    """What Gemini CLI and Qwen Code write down of an answer; `names` are those of the counts of input, output, cached
    input, and all. What a model has only thought is in the sum alone, or in the output, too."""
    counts: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    read, out, cached, total = (_count(counts.get(name)) for name in names)
    if not (read or out):
        return None
    name = model if isinstance(model, str) and model else None
    return Usage(read, max(out, total - read), cached, name)


def _count(value: Any) -> int:
    return value if _is_count(value) else 0


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST
