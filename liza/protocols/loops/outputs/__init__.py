"""How the outputs of tools and agents are read for errors; `liza.protocols.loops.errors` is the way in."""
