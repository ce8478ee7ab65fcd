"""Keys are ordered as the magnitudes of every format, and become codes again."""

import numpy as np
import pytest

import golden
from golden.arithmetic.amax import magnitudes
from hwgen.blocks.amax import Amax
from hwgen.datapath.order import Order

FORMATS = (*golden.names(), "binary16", "bfloat16", "Binary8p1uf", "Binary9p1se", "Binary4p2sf", "e5m2b1_3")


@pytest.mark.parametrize("name", FORMATS)
def test_keys_are_ordered_as_ranks_are(name):
    fmt = golden.get(name)
    order, ranks = Order(fmt), magnitudes(fmt).ranks
    places = np.lexsort((ranks, order.keys))
    assert order.is_right
    assert (np.diff(ranks[places]) >= 0).all()
    assert (np.diff(ranks[places])[np.diff(order.keys[places]) == 0] == 0).all()
    assert int(order.keys.max()) < 1 << order.width
    infinity, nan = order.special_keys
    assert (infinity is not None, nan is not None) == (fmt.has_infinity, fmt.has_nan)
    if nan is not None:
        assert ((order.keys >= nan) == np.isnan(fmt.values)).all()


def test_a_format_without_order_is_refused():
    """Of the last two rows, that with the larger prefix has the smaller numbers."""
    rows = (
        golden.Row("00", golden.Fixed(0), 1, hidden=0),
        golden.Row("1", golden.Fixed(0), 2),
        golden.Row("01", golden.Fixed(1), 1),
    )
    fmt = golden.Format("turned", 4, rows, (), "a test", overflows=(golden.Overflow.SATURATE,))
    assert not Order(fmt).is_right
    sentence = (
        "source must be one format whose codes can be put in the order of their magnitudes, beginning with code 0"
    )
    with pytest.raises(golden.Refusal, match=f"^{sentence}, not 'turned'$"):
        Amax("e2m1", fmt)
