"""The `armor` command line: one module a command, imported only when its command is given."""
