"""The files of `templates/`: at the top of the source tree, inside the package once it is installed."""

import os


def text(name: str) -> str:
    """The text of one template."""
    with open(path(name), encoding="utf-8") as file:
        return file.read()


def path(name: str) -> str:
    here = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.join(here, "templates", name)
    return installed if os.path.exists(installed) else os.path.join(os.path.dirname(here), "templates", name)
