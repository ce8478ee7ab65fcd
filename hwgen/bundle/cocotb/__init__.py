"""Files of the bundle's folder ``tb/cocotb``, the same for all modules; in the Makefile NAME is the module's."""
