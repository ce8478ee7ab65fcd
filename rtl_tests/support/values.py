"""A comparison of values with those of another implementation."""

import numpy as np


def same_values(ours, theirs):
    """Compare numbers, signs of zeros, and NaN by class."""
    nan = np.isnan(theirs)
    np.testing.assert_array_equal(np.isnan(ours), nan)
    np.testing.assert_array_equal(ours[~nan], theirs[~nan])
    np.testing.assert_array_equal(np.signbit(ours[~nan]), np.signbit(theirs[~nan]))
