"""The files that accompany a module's Verilog."""
