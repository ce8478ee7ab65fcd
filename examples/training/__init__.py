"""The study of training: small networks on JAX whose matrix products are those of hardware, bit for bit.

JAX's CPU client has one thread, so that the last bits of sums do not depend on the machine's number of processors.
"""

import os

os.environ |= {"JAX_PLATFORMS": "cpu", "NPROC": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
