"""Energy of a module per operation, from a simulation of its netlist of cells with a delay for each cell."""
