"""Tests of the study of training; without JAX all are skipped."""

import pytest

pytest.importorskip("jax", reason="JAX is not installed (the extra [jax])")
