"""Truth values, bit vectors and floating-point numbers over bitwuzla's terms, with the operators of mathematics.

Operands of one operator have the same width and the same sign, or are integers that fit into it: nothing is extended or
cut in silence. Bits are counted from the least significant one, also by :func:`cat`.
"""

from collections.abc import Callable, Iterator
from typing import Self, TypeVar, overload

from bitwuzla import Kind, RoundingMode, Term, TermManager

from synth.proof.gates import NotShownError


class Value:
    """A term, which can be compared with others of its kind."""

    __slots__ = ("manager", "term")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, manager: TermManager, term: Term):
        self.manager, self.term = manager, term

    def _operand(self, other: object) -> Term:
        if type(other) is not type(self):
            raise TypeError(f"{type(self).__name__} cannot be combined with {other!r}")
        return other.term

    def of(self, term: Term) -> Self:
        return type(self)(self.manager, term)

    def _truth(self, kind: Kind, *others: Term) -> "Bool":
        return Bool(self.manager, self.manager.mk_term(kind, [self.term, *others]))

    def __eq__(self, other: object) -> "Bool":  # type: ignore[override]
        return self._truth(Kind.EQUAL, self._operand(other))

    def __ne__(self, other: object) -> "Bool":  # type: ignore[override]
        return ~(self == other)


def _connective(kind: Kind) -> "Callable[[Bool, Bool | bool], Bool]":
    return lambda self, other: Bool(self.manager, self.manager.mk_term(kind, [self.term, self._operand(other)]))


class Bool(Value):
    """A truth value; the other operand may be True or False."""

    __slots__ = ()

    def _operand(self, other: object) -> Term:
        if type(other) is Bool:  # the usual case first: netlists have many
            return other.term
        if isinstance(other, bool):
            return self.manager.mk_true() if other else self.manager.mk_false()
        return super()._operand(other)

    __and__, __or__, __xor__ = map(_connective, (Kind.AND, Kind.OR, Kind.XOR))

    def __invert__(self) -> "Bool":
        return self._truth(Kind.NOT)

    def implies(self, other: "Bool | bool") -> "Bool":
        """Whether the other one is true wherever this one is."""
        return self._truth(Kind.IMPLIES, self._operand(other))


def _operation(kind: Kind) -> "Callable[[Bits, Bits | int], Bits]":
    return lambda self, other: self._word(kind, other)


def _comparison(kind: Kind, signed_kind: Kind) -> "Callable[[Bits, Bits | int], Bool]":
    return lambda self, other: self._truth(signed_kind if self.is_signed else kind, self._operand(other))


class Bits(Value):
    """A word of ``width`` bits; with a sign, comparisons and extensions take it for a number in two's complement."""

    __slots__ = ("is_signed", "width")

    def __init__(self, manager: TermManager, term: Term, width: int, is_signed: bool = False):
        super().__init__(manager, term)
        self.width, self.is_signed = width, is_signed

    def _operand(self, other: object) -> Term:
        if isinstance(other, int):
            if not -(1 << self.width) // 2 <= other < 1 << self.width - self.is_signed:
                raise NotShownError(f"a word of {self.width} bits is too short for {other}")
            return self.manager.mk_bv_value(self.manager.mk_bv_sort(self.width), other % (1 << self.width))
        if isinstance(other, Bits) and (self.width, self.is_signed) != (other.width, other.is_signed):
            raise TypeError("words have different widths or signs")
        return super()._operand(other)

    def of(self, term: Term) -> Self:
        """Another word of the same width and sign."""
        return type(self)(self.manager, term, self.width, self.is_signed)

    def _word(self, kind: Kind, *others: "Bits | int") -> "Bits":
        return self.of(self.manager.mk_term(kind, [self.term, *map(self._operand, others)]))

    __add__, __sub__, __mul__, __and__ = map(_operation, (Kind.BV_ADD, Kind.BV_SUB, Kind.BV_MUL, Kind.BV_AND))

    def __rsub__(self, other: int) -> "Bits":
        return self.constant(other) - self

    def __neg__(self) -> "Bits":
        return self._word(Kind.BV_NEG)

    def __lshift__(self, places: "Bits | int") -> "Bits":
        return self._word(Kind.BV_SHL, self._places(places))

    def __rshift__(self, places: "Bits | int") -> "Bits":
        return self._word(Kind.BV_ASHR if self.is_signed else Kind.BV_SHR, self._places(places))

    def _places(self, places: "Bits | int") -> "Bits | int":
        """A number of places, which may be a shorter word."""
        return places if isinstance(places, int) else places.to(self.width)._as(self.is_signed)

    __lt__, __le__ = _comparison(Kind.BV_ULT, Kind.BV_SLT), _comparison(Kind.BV_ULE, Kind.BV_SLE)
    __gt__, __ge__ = _comparison(Kind.BV_UGT, Kind.BV_SGT), _comparison(Kind.BV_UGE, Kind.BV_SGE)

    def __abs__(self) -> "Bits":
        """The magnitude of a number with a sign, without one."""
        return ite(self[-1], -self, self)._as(False)

    def _as(self, is_signed: bool) -> "Bits":
        return Bits(self.manager, self.term, self.width, is_signed)

    @property
    def signed(self) -> "Bits":
        """The same bits as a number with a sign."""
        return self._as(True)

    def constant(self, value: int) -> "Bits":
        return self.of(self._operand(value))

    def to(self, width: int) -> "Bits":
        """The same number in more bits."""
        kind = Kind.BV_SIGN_EXTEND if self.is_signed else Kind.BV_ZERO_EXTEND
        term = self.manager.mk_term(kind, [self.term], [width - self.width]) if width != self.width else self.term
        return Bits(self.manager, term, width, self.is_signed)

    @overload
    def __getitem__(self, place: int) -> Bool: ...
    @overload
    def __getitem__(self, place: slice) -> "Bits": ...
    def __getitem__(self, place: int | slice) -> "Bool | Bits":
        """Whether a bit is 1; or some bits, without a sign."""
        places = range(self.width)[place]
        first, last = (places, places) if isinstance(places, int) else (places[0], places[-1])
        word = Bits(self.manager, self.manager.mk_term(Kind.BV_EXTRACT, [self.term], [last, first]), last - first + 1)
        return word == 1 if isinstance(place, int) else word

    def __iter__(self) -> Iterator[Bool]:
        return map(self.__getitem__, range(self.width))

    def as_float(self, exponent_bits: int) -> "Float":
        """The number that the bits are in IEEE 754's interchange format."""
        indices = [exponent_bits, self.width - exponent_bits]
        return Float(self.manager, self.manager.mk_term(Kind.FP_TO_FP_FROM_BV, [self.term], indices))

    def rounded(self, mode: RoundingMode, exponent_bits: int, precision: int) -> "Float":
        """The number without a sign, rounded to a floating-point format."""
        arguments = [self.manager.mk_rm_value(mode), self.term]
        term = self.manager.mk_term(Kind.FP_TO_FP_FROM_UBV, arguments, [exponent_bits, precision])
        return Float(self.manager, term)


def _test(kind: Kind) -> property:
    return property(lambda self: self._truth(kind))


class Float(Value):
    """A floating-point number of SMT-LIB; two are also equal if both are NaN."""

    __slots__ = ()

    def plus(self, other: "Float", mode: RoundingMode) -> "Float":
        """The sum, rounded."""
        arguments = [self.manager.mk_rm_value(mode), self.term, other.term]
        return Float(self.manager, self.manager.mk_term(Kind.FP_ADD, arguments))

    def has_value_of(self, other: "Float") -> Bool:
        """Whether the values are equal, as those of both zeros are; NaN has none."""
        return self._truth(Kind.FP_EQUAL, other.term)

    def rounded(self, mode: RoundingMode, exponent_bits: int, precision: int) -> "Float":
        """The number, rounded to another floating-point format."""
        arguments = [self.manager.mk_rm_value(mode), self.term]
        term = self.manager.mk_term(Kind.FP_TO_FP_FROM_FP, arguments, [exponent_bits, precision])
        return Float(self.manager, term)

    is_nan, is_inf, is_zero, is_normal = map(
        _test, (Kind.FP_IS_NAN, Kind.FP_IS_INF, Kind.FP_IS_ZERO, Kind.FP_IS_NORMAL)
    )
    is_negative, is_subnormal = map(_test, (Kind.FP_IS_NEG, Kind.FP_IS_SUBNORMAL))


Chosen = TypeVar("Chosen", Bool, Bits)


def ite(condition: Bool, then: Chosen | int, otherwise: Chosen | int) -> Chosen:
    """``then`` if the condition is true, else ``otherwise``; one of them may be an integer, or True or False."""
    kind = then if isinstance(then, Value) else otherwise
    assert isinstance(kind, Value)
    term = condition._truth(Kind.ITE, kind._operand(then), kind._operand(otherwise)).term
    return kind.of(term)


def cat(*parts: Bits | Bool) -> Bits:
    """The word that consists of words and single bits, the least significant part first."""
    manager = parts[0].manager
    one, zero = (manager.mk_bv_value(manager.mk_bv_sort(1), bit) for bit in (1, 0))
    terms = [
        part.term if isinstance(part, Bits) else manager.mk_term(Kind.ITE, [part.term, one, zero]) for part in parts
    ]
    term = manager.mk_term(Kind.BV_CONCAT, terms[::-1]) if len(terms) > 1 else terms[0]
    return Bits(manager, term, sum(part.width if isinstance(part, Bits) else 1 for part in parts))
