"""Sweeps of a design space: thousands of area jobs from a file, on one machine or on a cluster."""
