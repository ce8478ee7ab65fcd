"""What a datapath is built for: small area, or short delay. The results are the same."""

GOALS = AREA, SPEED = "area", "speed"
"""``speed``: MACs have two paths (:mod:`hwgen.datapath.fast.adder`); in dot products and readouts the first 1 is found
beside the sum (:mod:`hwgen.datapath.fast.normalize`); a code is a sum of products (:mod:`hwgen.rounding.direct`).
"""
