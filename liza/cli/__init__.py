"""The command line: parsing and printing only. One module a command; the work is done elsewhere."""
