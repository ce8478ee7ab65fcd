"""Functional coverage: what vectors exercise, by the values of operands, exact results and rounded results.

Like :mod:`hwgen.reference`, this folder checks hardware and may call golden's algorithms; no hardware depends on it.
"""
