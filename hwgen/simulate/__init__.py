"""Simulation with cocotb, against the reference model; cocotb and simulators are in the optional extra ``simulate``."""
