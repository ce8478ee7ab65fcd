"""Training of small networks whose matrix products are those of hardware, bit for bit."""
