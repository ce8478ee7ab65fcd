"""What Yosys makes of the Verilog: area as data, and the report."""
