"""The command line: its grammar, its commands, and batch files."""
