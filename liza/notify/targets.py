"""Where messages go: what `notify:` in rules.yaml and `config.escalation_webhook` ask for, and what is wrong with it.

A new kind of target is a module with a class that has `name` and `send`, and a function `read`, entered in `READERS`.
A fault disables only its own target; it names no address, because addresses hold secrets.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, count
from typing import Any

from liza.model import Fault, Path
from liza.notify import desktop, file, webhook
from liza.notify.message import Target
from liza.notify.settings import unknown_keys

# By the key under `notify:`. Each is given the value, its path, and the folder of the project.
READERS: Mapping[str, Callable[[Any, Path, str], Iterable[Target | Fault]]] = {
    "webhook": webhook.read,
    "desktop": desktop.read,
    "file": file.read,
}


def read_targets(block: Any, config: Any, project: str) -> tuple[list[Target], list[Fault]]:
    """The targets, each once, and the faults on their paths in rules.yaml (`notify`) and in state.yaml (`config`)."""
    escalation = config.get("escalation_webhook") if isinstance(config, Mapping) else None
    return split_faults([*webhook.read_one(escalation, ("config", "escalation_webhook")), *read_block(block, project)])


def read_block(block: Any, project: str, path: Path = ("notify",)) -> Iterator[Target | Fault]:
    """What a block of targets asks for: `notify`, or the one for `liza run`."""
    given: Mapping[str, Any] = block if isinstance(block, Mapping) else {}
    for key, read in READERS.items():
        yield from read(given.get(key), (*path, key), project)
    yield from unknown_keys(given, path, tuple(READERS))


def split_faults(found: Iterable[Target | Fault]) -> tuple[list[Target], list[Fault]]:
    """The targets, each once, and the faults."""
    everything = list(found)
    targets: dict[Target, None] = {each: None for each in everything if not isinstance(each, Fault)}
    return list(targets), [each for each in everything if isinstance(each, Fault)]


def unique_name(target: Target, taken: Collection[str]) -> str:
    """A distinct name: channels of one host differ only in what must stay secret."""
    numbered = (f"{target.name} ({number})" for number in count(2))
    return next(name for name in chain((target.name,), numbered) if name not in taken)
