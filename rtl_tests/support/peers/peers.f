// the package of all peers, and the folder of its macros
+incdir+.
fp_pkg.sv
