"""The tests make a person's decisions, which liza refuses inside an agent; they pass there, too."""

import os

from liza.clients.inside import drop_variables

drop_variables(os.environ)
