"""The functions of blocks in C, without their ports: from a struct of inputs to one of outputs, ``M_core``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from golden import WIDE, ExactAccumulator, Format, Rounding, WideFormat
from golden.arithmetic.amax import IGNORE
from golden.arithmetic.blocks import element_exponent, first_rounded_up
from golden.lfsr import Lfsr
from golden.wide import POSITIVE, RVBNA, aligned_bits, bulk_bits, wide
from hwgen.datapath.random import Random
from hwgen.model.constants import decoding, encoding, enum, number, part, rounding, wide_format

_LONGEST = 58
"""Fraction bits in total_short.h of aligned addends, whose sum fits in 64 bits."""


def _scale(scale_bits: int) -> str:
    """The exponent at the port ``scale``."""
    value = f"M_signed(in->scale[0], {scale_bits})" if scale_bits else "(void)in, 0"
    return f"static inline int M_scale(const M_in *in) {{ return {value}; }}\n"


def _status(outputs: Iterable[str]) -> str:
    """The outputs ``flags`` and ``overflow``, as far as there are any."""
    texts = {"flags": "out->flags[0] = (uint64_t)flags;", "overflow": "out->overflow[0] = (flags & M_OVERFLOW) != 0;"}
    lines = " ".join(text for name, text in texts.items() if name in outputs) or "(void)out, (void)flags;"
    return f"static inline void M_status(M_out *out, int flags) {{ {lines} }}\n"


def _choices(mode: Rounding, source: Format | None, random_bits: int | None, *, pin: bool = False) -> str:
    """The rounding of a number, the threshold of the roundings that have one, and the random word of a lane."""
    tail_bits, threshold, word = 0, "(void)bits, (void)random, 0", "(void)in, (void)lane, 0"
    if random_bits is not None:
        tail_bits, word = random_bits, f"M_get(in->random, lane * {random_bits}, {random_bits})"
        threshold = f"(void)bits, ((uint64_t)1 << {random_bits}) - random"
    elif mode is Rounding.HYBRID and source is not None:  # bits of the source (specification, 1.3)
        tail_bits = 14 if source.name == "binary32" else 2
        threshold = "(void)random, " + ("bits & 0x3fff" if tail_bits == 14 else "(bits & 1) * 2 + 1")
    chosen = f"in->hybrid[0] ? {rounding(mode)} : M_TIES_TO_AWAY" if pin else f"(void)in, {rounding(mode)}"
    return enum(TAIL_BITS=tail_bits) + (
        f"static inline int M_rounding(const M_in *in) {{ return {chosen}; }}\n"
        f"static inline uint64_t M_random(const M_in *in, int lane) {{ return {word}; }}\n"
        f"static inline uint64_t M_threshold(uint32_t bits, uint64_t random) {{ return {threshold}; }}\n"
    )


def _fixed(unit: ExactAccumulator) -> str:
    """Fixed point with room for the sum of a value and 32 products."""
    constants = enum(LSB=unit.lsb_exponent, LIMBS=(unit.value_width + 8) // 64 + 1, VALUE_BITS=unit.value_width)
    return constants + part("fixed") + part("exact")


def _decoder(core: Any, _outputs: Iterable[str]) -> str:
    text = decoding("code", core.fmt)
    if core.target == "unpacked":
        return text + enum(EXPONENT_BITS=len(core.exponent), SIGNIFICAND_BITS=core.fmt.precision) + part("unpacked")
    return text + _target(wide(core.target)) + part("decoder")


def _target(target: WideFormat) -> str:
    text = f"enum {{ M_ROUNDING = {rounding(target.roundings[0])} }};\n" + enum(FRACTION_BITS=target.fraction_bits)
    return text + wide_format("TARGET", target)


def _encoder(core: Any, outputs: Iterable[str]) -> str:
    text = decoding("bits", core.source) + wide_format("SOURCE", core.source) + _scale(core.scale_bits)
    text += encoding(core.fmt, core.rounding, core.overflow, nan_to_zero=core.nan_to_zero) + _status(outputs)
    return text + _choices(core.rounding, core.source, core.random_bits, pin=core.rounding_pin) + part("encoder")


def _readout(core: Any, outputs: Iterable[str]) -> str:
    fmt, chosen = core.target, core.chosen
    text = _fixed(core.exact) + _scale(core.scale_bits) + enum(ZERO_IS_POSITIVE=core.zero == POSITIVE)
    text += enum(TARGET_WIDTH=fmt.width)
    function = "static inline uint32_t M_round(M_number x, const M_in *in) {\n"
    if fmt.name in WIDE:
        text += _target(fmt) + enum(HAS_NEGATIVE_ZERO=fmt.has_negative_zero)
        function += "  (void)in;\n  return M_pack(x, M_TARGET, M_ROUNDING, M_FRACTION_BITS);\n}\n\n"
    else:
        text += encoding(fmt, chosen.rounding, chosen.overflow, nan_to_zero=chosen.nan_to_zero)
        text += _choices(chosen.rounding, None, core.random_bits)
        call = "M_encode(x, M_rounding(in), M_threshold(0, M_random(in, 0)), M_TAIL_BITS, &flags)"
        function += f"  int flags;\n  return {call};\n}}\n\n"
    return text + function + part("readout").replace("M_RESULT", next(iter(outputs)))


def _sums(core: Any, outputs: Iterable[str]) -> str:
    options, lanes = core.sums, getattr(core, "lanes", 1)
    a, b, unit = options.a_format, options.b_format, options.exact
    text = enum(LANES=lanes, A_BITS=a.width, B_BITS=b.width) + decoding("a", a) + decoding("b", b) + _status(outputs)
    factor = "M_code f = M_ONE;\n  f.e = f.row = (int16_t)M_scale(in);\n  return f;"
    if options.block_scale is not None:
        text += decoding("scale", options.block_scale)
        codes = ", ".join(f"M_decode_scale((uint32_t)in->{name}_scale[0])" for name in "ab")
        factor = f"return M_product({codes}, M_ONE);"
    function = f"static inline M_code M_factor(const M_in *in) {{\n  {factor}\n}}\n\n"
    scale = "" if options.block_scale is not None else _scale(options.scale_bits)
    if unit is not None:
        text += enum(ACC_WORDS=unit.limbs) + _fixed(unit)
        return text + part("sums") + scale + function + part("exact_sum")
    state, kept, is_bulk = options.state, aligned_bits(options.accumulator), options.accumulator == RVBNA
    mode = Rounding.TO_ODD if is_bulk else Rounding.TOWARD_ZERO if kept else state.roundings[0]
    # of two addends, one is cut only where the other one's last bit is above it by more than the result's precision
    bits = sum(max(row.fraction_bits for row in fmt.rows) + 1 for fmt in (a, b)) + options.spare_bits
    is_short = is_bulk or (lanes == 1 and max(bits, state.fraction_bits) + state.fraction_bits + 8 <= _LONGEST)
    text += enum(
        IS_BULK=is_bulk,
        ALIGNED_BITS=kept or 0,
        KEPT_BITS=bulk_bits(lanes) if is_bulk else min(kept or state.fraction_bits, state.fraction_bits),
        FRACTION_BITS=state.fraction_bits,
        STATE_WIDTH=state.width,
        HAS_FLAGS=bool({"flags", "overflow"} & set(outputs)),
        ZERO_IS_POSITIVE=options.zero == POSITIVE,
    )
    text += f"enum {{ M_ROUNDING = {rounding(mode)} }};\n" + wide_format("STATE", state)
    text += number("SMALLEST_NORMAL", state.smallest_normal) + part("sums")
    if is_short:
        text += part("total_short")
    else:
        top = max(a.exponent_range[1] + b.exponent_range[1] + 2 + options.factor_exponents[1], state.bias + 1)
        least = options.lsb_exponent
        text += (
            enum(LSB=least, LIMBS=(top - least + lanes.bit_length() + 2) // 64 + 1)
            + part("fixed")
            + part("total_fixed")
        )
    return text + scale + function + part("rounded")


def _scales(core: Any) -> str:
    """The exponent of a block's scale."""
    first = first_rounded_up(core.policy, core.fmt, 23, core.top)
    return enum(TOP=element_exponent(core.fmt, core.top), FIRST_ROUNDED_UP=first) + part("scale")


def _quantizer(core: Any, _outputs: Iterable[str]) -> str:
    source = wide(core.source)
    text = enum(LANES=core.lanes, SOURCE_WIDTH=source.width) + decoding("bits", source) + _scales(core)
    text += encoding(core.fmt, core.rounding, core.overflow) + _choices(core.rounding, source, core.random_bits)
    return text + part("quantizer")


def _amax(core: Any, _outputs: Iterable[str]) -> str:
    fmt = core.source
    text = enum(LANES=core.lanes, SOURCE_WIDTH=fmt.width) + decoding("bits", fmt) + _scales(core)
    ignores = enum(IGNORES_NAN=core.nan == IGNORE, IGNORES_INFINITY=core.infinity == IGNORE and fmt.has_infinity)
    if fmt.name in WIDE:  # magnitudes are in the order of their codes
        magnitude, nan = f"code & {fmt.sign_bit - 1:#x}u", fmt.canonical_nan
        text += enum(NAN_RANK=nan, INFINITY_RANK=fmt.infinity)
        rank = f"return ({magnitude}) > M_INFINITY_RANK ? M_NAN_RANK : {magnitude};"
        tables, code = "", "rank"
    else:
        ranks, codes, infinity = _ranks(fmt)
        text += enum(NAN_RANK=len(codes) - 1, INFINITY_RANK=infinity)
        arrays = (
            f"{name}[{len(values)}] = {{ {', '.join(map(str, values))} }};\n"
            for name, values in (("ranks", ranks), ("codes_of_ranks", codes))
        )
        tables = "".join(f"static const uint16_t M_{array}" for array in arrays)
        rank, code = "return M_ranks[code];", "M_codes_of_ranks[rank]"
    functions = f"static inline uint32_t M_rank(uint32_t code) {{ {rank} }}\n"
    functions += f"static inline uint32_t M_code_of(uint32_t rank) {{ return {code}; }}\n\n"
    return text + ignores + tables + functions + part("amax")


def _ranks(fmt: Format) -> tuple[list[int], list[int], int]:
    """The rank of every code in the order of magnitudes, the code of every rank, and the rank of infinity.

    NaN has the last rank, and if there is no infinity, that is its rank, too.
    """
    values = np.abs(fmt.values)
    levels = np.unique(values[~np.isnan(values)])
    nan = len(levels)
    ranks = np.where(np.isnan(values), nan, np.searchsorted(levels, values)).tolist()
    codes = [0] * (nan + 1)
    for code in sorted(range(len(ranks)), key=lambda code: (not np.signbit(fmt.values[code]), -code)):
        codes[ranks[code]] = code
    codes[nan] = fmt.canonical_nan or 0
    return ranks, codes, nan - bool(np.isinf(levels[-1]))


def register(source: Random) -> str:
    """The shift register of random words."""
    lfsr: Lfsr = source.lfsr
    constants = enum(WORD_BITS=source.random_bits, WORDS=source.lanes)
    return f"{constants}#define M_POLYNOMIAL {lfsr.mask:#x}u\n{part('random')}"


CORES: dict[str, Callable[[Any, Iterable[str]], str]] = {
    "decoder": _decoder,
    "encoder": _encoder,
    "quantizer": _quantizer,
    "mac": _sums,
    "dot": _sums,
    "pe": _sums,
    "readout": _readout,
    "amax": _amax,
}
"""The text of ``M_core`` by the names of blocks, from a block's component and the names of the outputs."""
