"""Where the runs of the study of training are trained: processes of this machine, or a cluster."""
