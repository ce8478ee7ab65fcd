"""Sweeps of the design space: thousands of area jobs from a file, on one machine or a cluster, that survive whatever
goes wrong.
"""
