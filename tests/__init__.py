"""The tests make a person's decisions, which liza refuses inside an agent; they pass there, too."""

import os

from liza.clients.caller import drop_variables

drop_variables(os.environ)
