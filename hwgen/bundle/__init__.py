"""The files beside a module's Verilog."""
