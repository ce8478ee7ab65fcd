"""Rounding to a format: neighbours, decisions, packing."""
