"""Status flags of an encoder."""

from amaranth.hdl import Value

from hwgen.datapath.flags import word
from hwgen.rounding.neighbour import LowerNeighbour
from hwgen.rounding.packing import Packer


def of_conversion(lower: LowerNeighbour, moved: Value, packer: Packer, ordinal: Value, nonzero: Value, signaling: Value) -> Value:
    """Flags of an encoder.

    Parameters
    ----------
    lower : LowerNeighbour
        Of the number, which tells what is beyond it.
    moved : Value
        Whether a number that is a value of the format became another one.
    packer : Packer
    ordinal : Value
        What the number was rounded to.
    nonzero, signaling : Value
        Whether the source is another magnitude than zero, and whether its NaN is a signaling one.
    """
    at, order = lower.at, lower.order
    parts = at.parts
    # Zero is the lower neighbour of whatever is below the smallest value; where no subnormals and no gap are there, the exponent tells.
    # (Beyond the range an ordinal means nothing.)
    next_to_zero = (lower.ordinal == order.zero) & ~at.at_least(order.top_exponent + 1)
    below_smallest = next_to_zero if order.subnormals or order.first_missing else at.under
    below_normals = next_to_zero if order.first_missing or not order.segments else at.under
    finite = at.named("is_finite", ~(parts.is_inf | parts.is_nan))
    overflow = at.named("overflow_flag", packer.past_largest(ordinal) & finite)
    lost = at.named("lost", (lower.beyond | below_smallest | moved) & nonzero & finite)
    unanswered = signaling if packer.keeps_nan else parts.is_nan
    if not packer.keeps_infinity:
        unanswered = unanswered | parts.is_inf
    return word(lost | overflow, lost & below_normals, overflow, unanswered)
