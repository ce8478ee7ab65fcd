"""What is built for speed: the adder of a fused MAC with two paths, and a first 1 that is found beside a sum."""
