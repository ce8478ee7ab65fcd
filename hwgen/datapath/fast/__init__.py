"""The adder of a fused MAC with two paths, which has half the delay of the small one and twice its area."""
