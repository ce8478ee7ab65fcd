"""The adder of a fused MAC with two paths, with 0.6 of the small one's delay."""
