"""Synthesis of the generated Verilog with Yosys: area, delay, proofs, sweeps and the report."""
