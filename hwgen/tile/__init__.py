"""The tile: a matrix unit with streams, made of processing elements and readouts; see docs/tile.md."""
