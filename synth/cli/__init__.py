"""The commands that measure, check and report."""
