"""The models that a run works through, and whether its command takes one at all."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from liza.store.files import open_regular

PLACEHOLDER, VARIABLE = "{model}", "LIZA_MODEL"
_LARGEST = 1 << 20  # bytes of a script that are searched


class Progression(NamedTuple):
    """Models in order, and the current one. A name may occur twice, so the place counts."""

    models: tuple[str, ...]
    model: str | None = None
    place: int | None = None  # of the model among them; None if it is not one of them

    def following(self) -> "Progression | None":
        """Move to the next model; None after the last, and after one that is not in the list."""
        if self.model is not None and self.place is None:
            return None
        place = 0 if self.place is None else self.place + 1
        return self._replace(model=self.models[place], place=place) if place < len(self.models) else None

    def chosen(self, model: str | None, place: int | None = None) -> "Progression":
        """Move to the model that a person names; `place` is its saved place, if it is still there."""
        following = self.following()
        if place is not None and self.models[place : place + 1] == (model,):
            return self._replace(model=model, place=place)
        if following is not None and following.model == model and self.model is not None:
            return following
        return self._replace(model=model, place=self.models.index(model) if model in self.models else None)


def takes_model(command: Sequence[str], cwd: str) -> bool:
    """Whether the command uses the model: in its words, or in a script that it names.

    A program that reads the variable by other means is not recognised, so this is good for a warning only.
    """
    if any(PLACEHOLDER in word or VARIABLE in word for word in command):
        return True
    program = shutil.which(os.path.join(cwd, command[0]) if "/" in command[0] else command[0])
    return any(_mentions_model(os.path.join(cwd, path)) for path in (program, *command[1:]) if path)


def _mentions_model(path: str) -> bool:
    with suppress(OSError, ValueError), open(path, "rb", opener=open_regular) as file:
        return VARIABLE.encode() in file.read(_LARGEST)
    return False
