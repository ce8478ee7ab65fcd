"""From a component to a netlist, a pipeline, and Verilog."""
