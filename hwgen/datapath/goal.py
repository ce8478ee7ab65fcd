"""What a datapath is built for: small area or short delay, and cells or LUTs. The results are the same."""

GOALS = AREA, SPEED = "area", "speed"
"""``speed``: MACs, and dot products with scales or into dlfloat16, have two paths (:mod:`hwgen.datapath.fast.adder`);
aligned sums move products by groups of exponents (:mod:`hwgen.datapath.fast.aligned`); the first 1 of a sum or of a
readout's magnitude is found beside it (:mod:`hwgen.datapath.normalize`); a code is a sum of products
(:mod:`hwgen.rounding.direct`).
"""

FABRICS = ASIC, FPGA = "asic", "fpga"
"""``asic``: sums of many addends, which synthesis compresses to two. ``fpga``: a tree of sums of two addends."""
