"""What a datapath is built for: small area, or short delay. The results are the same."""

GOALS = AREA, SPEED = "area", "speed"
"""``area``: one path, :mod:`hwgen.datapath.adder`. ``speed``: two paths, :mod:`hwgen.datapath.fast.adder`."""
