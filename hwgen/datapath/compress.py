"""Sums of many bits by full adders, to two rows: in carry-save form these are the number, else they are added."""

import itertools
from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Value

from hwgen.datapath.arithmetic import named
from hwgen.datapath.fast.prefix import Places, total
from hwgen.datapath.rows import SumShape
from hwgen.netlist.book import chapter

Bit = tuple[int, Value]
"""A bit and when it arrives, in delays of an XOR."""

FIRST, PARTIAL, PRODUCTS, LAST = 0, 1, 4, 100
"""Arrival of a state that is there from the start, of partial products, of products, and of a state after their sum."""


def compressed_sum(
    m: Module,
    rows: Sequence[Value],
    shape: SumShape,
    state: tuple[Value, Value],
    *,
    state_last: bool,
) -> tuple[Value, Value]:
    """Two rows that are worth the rows of ``state`` plus those of all lanes.

    ``state_last`` says whether the state arrives after the products: full adders take the bits that arrive first.
    """
    width, sign = len(state[0]), shape.product_bits
    chapter(m, f"Compress: full adders, from two rows of {width} bits and a row of each lane to two rows")
    arrival = LAST if state_last else FIRST
    columns: list[list[Bit]] = [[] for _ in range(width)]
    for row, time in (*((row, arrival) for row in state), *((row, PRODUCTS) for row in rows)):
        for column, bit in zip(columns, row, strict=False):
            column.append((time, bit))
    # The inverted signs need the constant -lanes * 2**sign = (2**log - lanes) * 2**sign - 2**top. Its last part is
    # taken from a bit s of the state: s * 2**top - 2**top = -~s * 2**top, which is ~s in all places from there on.
    log = (shape.lanes - 1).bit_length()
    for place in range(log):
        if ((1 << log) - shape.lanes) >> place & 1:
            columns[sign + place].insert(0, (FIRST, Const(1, 1)))
    top = sign + log
    borrow = arrival, named(m, "borrow", ~state[0][top])
    columns[top][0] = borrow  # in place of s
    for column in columns[top + 1 :]:
        column.append(borrow)
    first, second = compressed(m, columns, 2)
    return first, second


def prefix_sum(
    m: Module, name: str, rows: Sequence[tuple[int, Value]], constant: int, acc: Value, width: int, arrival: int
) -> tuple[Value, Places]:
    """``acc``, a constant, and rows that begin at some place: their sum, modulo ``2**width``, and its places.

    The rows arrive together. Full adders make two rows, and a parallel prefix adds them.
    """
    bits = "the bits of all lanes and the accumulator" if len(acc) else "the bits of all lanes"
    chapter(m, f"Compress: full adders, from {bits} to two rows of {width} bits")
    columns: list[list[Bit]] = [[(FIRST, Const(1, 1))] * (constant >> place & 1) for place in range(width)]
    for column, bit in zip(columns, acc, strict=False):
        column.append((FIRST, bit))
    for start, row in rows:
        for column, bit in zip(columns[start:], row, strict=False):
            column.append((arrival, bit))
    first, second = compressed(m, columns, 2, early_halves=True)
    chapter(m, f"Add: {name} {width} bits in two's complement, by parallel prefix")
    places = Places.of(m, name, first, second)
    return total(m, name, places), places


def sum_by_prefix(m: Module, rows: Sequence[Value], shape: SumShape) -> Value:
    """The sum of the rows of all lanes, as :func:`hwgen.datapath.rows.sum_of_products`."""
    addends, constant = [(0, row) for row in rows], -shape.lanes << shape.product_bits
    return prefix_sum(m, "products_sum", addends, constant, Cat(), shape.sum_bits, PRODUCTS)[0]


def multiplied(m: Module, a: Value, b: Value) -> Value:
    """The product of two numbers without sign."""
    columns: list[list[Bit]] = [[] for _ in range(len(a) + len(b))]
    for i, left in enumerate(a):
        for j, right in enumerate(b):
            columns[i + j].append((0, named(m, f"partial_{i}_{j}", left & right)))
    (product,) = compressed(m, columns, 1, "product_")
    return product


def compressed(
    m: Module, columns: Sequence[list[Bit]], count: int, prefix: str = "", *, early_halves: bool = False
) -> list[Value]:
    """``count`` rows with the same sum, modulo 2 to the number of columns.

    In each column, the three bits that arrive first go into a full adder; two that are left, into a half adder. With
    ``early_halves``, of two rows, the half adder of an odd number of bits is the first one, as in Oklobdzija's method
    (IEEE Transactions on Computers 45, 1996): the last full adder would delay its carry and sum.
    """
    rows: list[list[Value]] = [[] for _ in range(count)]
    for place, column in enumerate(columns):
        for number in itertools.count():
            if len(column) <= count and not (len(column) > 1 and isinstance(column[0][1], Const)):
                break
            column.sort(key=lambda bit: bit[0])
            size = 2 if early_halves and number == 0 and len(column) % 2 else 3
            times, bits = zip(*column[:size], strict=True)
            total, carry = _added(bits)
            last = times[-1] - (size == 2 and isinstance(bits[0], Const))  # x + 1 takes no gates
            time = max(times[1] + len(bits) - 2, last)  # a full adder's sum has two XORs, the second for the last bit
            column[:size] = [(time + 1, named(m, f"{prefix}sum_{place}_{number}", total))]
            if place + 1 < len(columns):
                columns[place + 1].append((last + 1, named(m, f"{prefix}carry_{place + 1}_{number}", carry)))
        for row, value in itertools.zip_longest(rows, (bit for _, bit in column), fillvalue=Const(0, 1)):
            row.append(value)
    return [Cat(row) for row in rows]


def _added(bits: Sequence[Value]) -> tuple[Value, Value]:
    """Sum and carry of two or three bits; the first may be a constant 1."""
    first, second, *others = bits
    if not others:
        return (~second, second) if isinstance(first, Const) else (first ^ second, first & second)
    (third,) = others
    if isinstance(first, Const):
        return ~(second ^ third), second | third
    return first ^ second ^ third, (first & second) | (third & (first | second))


def resolved(m: Module, state: tuple[Value, Value]) -> tuple[Value, Value]:
    """The number, without its guard bit, and whether it needs that bit."""
    width = len(state[0])
    chapter(m, f"Resolve: total {width} bits in two's complement; the first is a guard bit")
    total = named(m, "total", (state[0] + state[1])[:width])
    return total[:-1], total[-1] ^ total[-2]
