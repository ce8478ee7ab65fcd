"""Audits of other people's units for 8-bit floating point."""
