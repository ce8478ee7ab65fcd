"""Proof that gates do what golden says: every input where that can be enumerated, a solver's proof where it cannot."""
