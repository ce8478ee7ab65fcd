// Formats of accumulators: values of their bits, and roundings of sums in binary64.

#pragma once

#include "job.h"

namespace {

enum Kind { IEEE, DLFLOAT16, EXACT, ALIGNED, BULK };

// Constants of a format of accumulators.
struct Target {
  int64_t fraction_bits, bias, width, special, infinity;
  V tiny, limit, largest, smallest, zero;
  double ulp;
  bool has_subnormals;

  explicit Target(const Job &job)
      : fraction_bits(job.fraction_bits), bias(job.bias), width(job.bits), special(job.canonical_nan),
        has_subnormals(job.has_subnormals) {
    const int64_t lowest = (has_subnormals ? 1 : 0) - bias;
    ulp = scalar_power(lowest - fraction_bits);
    tiny = all(ulp * INTEGER);
    limit = all((2 - scalar_power(-fraction_bits - 1)) * scalar_power(bias));      // from here on, infinity
    largest = all((2 - 2 * scalar_power(-fraction_bits)) * scalar_power(bias + 1));  // of dlfloat16
    smallest = all(scalar_power(lowest));
    zero = all(job.zero);
    infinity = has_subnormals ? (2 * bias + 1) << fraction_bits : special;
  }

  // Values of bits. dlfloat16's NaN-or-infinity is an infinity.
  V value(W code) const {
    const W fields = code & ((int64_t(1) << (width - 1)) - 1), negative = (code >> (width - 1)) << 63;
    V x = (V)((fields << (52 - fraction_bits)) + ((1023 - bias) << 52));
    if (has_subnormals) {
      const V integer = (V)(fields | (W)all(INTEGER)) - INTEGER;
      x = x < smallest ? integer * ulp : x;
      x = fields == infinity ? all(INF) : fields > infinity ? all(__builtin_nan("")) : x;
    } else {
      x = fields == 0 ? V{} : fields == infinity ? all(INF) : x;
    }
    return (V)((W)x | negative);
  }

  // Bits of values of the format; nothing is rounded here. NaN becomes the canonical one.
  W code(V x) const {
    const V size = magnitude(x);
    W fields = ((W)size >> (52 - fraction_bits)) - ((1023 - bias) << fraction_bits);
    if (has_subnormals) fields = size < smallest ? (W)(truncated(size * (1 / ulp)) + INTEGER) - (W)all(INTEGER) : fields;
    fields = size == V{} ? W{} : size == INF ? all(infinity) : fields;
    fields |= (sign(x) >> (64 - width)) & (int64_t(1) << (width - 1));
    return x == x ? fields : all(special);
  }
};

// To the format, ties to even; of dlfloat16, ties away from zero, and flushed.
template <int KIND> inline V rounded(V x, const Target &t) {
  const V size = magnitude(x);
  V r;
  if (KIND == DLFLOAT16) {
    const int64_t half = 1LL << (51 - t.fraction_bits);
    r = (V)(((W)size + half) & ~(2 * half - 1));
    r = r > t.smallest ? r : V{};  // the pattern of the smallest is zero's
    r = r > t.largest ? all(INF) : r;
  } else {
    // x lies in [2^e, 2^(e+1)); near 2^(e + 52 - fraction_bits), numbers are multiples of 2^(e - fraction_bits), or of
    // the smallest number if that is more
    const V middle = larger((V)(((W)size & EXPONENT) + ((52 - t.fraction_bits) << 52)), t.tiny);
    r = (size + middle) - middle;
    r = size < t.limit ? r : size + INF;
  }
  return (V)((W)r | sign(x)) + t.zero;
}

// acc + product, rounded once.
template <int KIND, bool ODD> inline V add(V acc, V product, const Target &t) {
  V error, total;
  if (ODD) {
    total = two_sum(product, acc, error);
    total = odd(total, error);
  } else {
    total = acc + product;
  }
  if (KIND == DLFLOAT16) total = magnitude(acc) == INF ? acc : total;
  return rounded<KIND>(total, t);
}

// dlfloat16's product of a special is the infinity of the sign of its codes.
inline V special_product(V product, V a, V b) {
  return magnitude(product) < INF ? product : (V)((sign(a) ^ sign(b)) | (W)all(INF));
}

// A sum of aligned addends, toward zero, at kept_bits or the format's fraction bits.
inline V truncated_to_format(V x, int64_t kept_bits, const Target &target) {
  const int64_t bits = kept_bits < target.fraction_bits ? kept_bits : target.fraction_bits;
  const V size = magnitude(x);
  const V normal = (V)((W)size & ~((int64_t(1) << (52 - bits)) - 1));
  const double unit = scalar_power(1 - target.bias - bits);
  V r = size < target.smallest ? truncated(size * (1 / unit)) * unit : normal;
  r = size < scalar_power(target.bias + 1) ? r : size + INF;
  return (V)((W)r | (x < V{} ? sign(x) : W{}));
}

// A sum that is exact, or rounded to odd before, to the format, to odd.
inline V odd_to_format(V x, const Target &target) {
  const V size = magnitude(x);
  const int64_t last = int64_t(1) << (52 - target.fraction_bits);
  const W lost = ((W)size & (last - 1)) != 0;
  const V normal = (V)(((W)size & ~(last - 1)) | (lost & last));
  V r = size < target.smallest ? jammed(size * (1 / target.ulp)) * target.ulp : normal;
  r = size < scalar_power(target.bias + 1) ? r : size + INF;
  return (V)((W)r | (x < V{} ? sign(x) : W{}));
}

}  // namespace
