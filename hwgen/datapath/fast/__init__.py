"""What is built for speed: an adder with two paths, and a first 1 that is found beside a sum or a magnitude."""
