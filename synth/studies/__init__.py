"""Studies that `make` runs: limits, rankings, delays of operations, mutants."""
