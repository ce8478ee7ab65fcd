"""Checks of gates against the reference model: all inputs are evaluated, or an SMT solver proves a claim about them."""
