"""How the outputs of tools and agents are read for errors; `liza.toolerrors.errors` is the way in."""
