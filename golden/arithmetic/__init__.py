"""Sums of products: MACs, dot products, matrix products. The formats and roundings above do not import this folder."""
