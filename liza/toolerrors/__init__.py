"""Find errors in the output of tools and agents; start at `liza.toolerrors.errors`."""
