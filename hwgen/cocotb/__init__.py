"""cocotb models of the blocks, for the benches of designs that contain them; and new vectors for the bundle's tests."""

from hwgen.cocotb.vectors import new_vectors

__all__ = ["new_vectors"]
