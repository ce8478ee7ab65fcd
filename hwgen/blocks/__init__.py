"""Blocks that are generated: each a component, with the options that make it."""
