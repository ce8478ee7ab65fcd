// Vectors of binary64 and of their patterns, and arithmetic on them that is exact or rounds as IEEE 754 has it.

#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define BYTES 64
#elif defined(__AVX2__)
#define BYTES 32
#else
#define BYTES 16
#endif
typedef double V __attribute__((vector_size(BYTES)));
typedef int64_t W __attribute__((vector_size(BYTES)));
typedef uint32_t H32 __attribute__((vector_size(BYTES / 2)));
typedef uint16_t H16 __attribute__((vector_size(BYTES / 4)));

namespace {

constexpr int WIDTH = BYTES / 8;  // numbers in a vector
constexpr int64_t SIGN = INT64_MIN, EXPONENT = 0x7FFLL << 52;
constexpr double INF = __builtin_inf();
constexpr double INTEGER = 0x1p52;  // numbers from here on are integers

inline V all(double x) { return x - V{}; }
inline W all(int64_t x) { return x - W{}; }
inline V magnitude(V x) { return (V)((W)x & ~SIGN); }
inline W sign(V x) { return (W)x & SIGN; }
inline V larger(V x, V y) { return x > y ? x : y; }
inline V power(V exponent) {  // of two, from -1022 to 1023
  return (V)((W)(exponent + (1023 + 1.5 * INTEGER)) << 52);
}
inline double scalar_power(int64_t exponent) {
  const int64_t bits = (exponent + 1023) << 52;
  double x;
  memcpy(&x, &bits, 8);
  return x;
}

inline V two_sum(V a, V b, V &error) {  // rounded, and its error (Knuth)
  const V total = a + b, virtual_b = total - a;
  error = (a - (total - virtual_b)) + (b - virtual_b);
  return total;
}

// The sum rounded to odd, from the sum rounded to nearest and its error or another number of the same sign.
inline V odd(V total, V error) {
  const W inexact = magnitude(error) > V{};  // errors of specials are NaN
  W pattern = (W)total;
  pattern += (((W)error ^ pattern) < 0) & inexact;
  return (V)(pattern | (inexact & 1));
}

inline V numbers(V x) { return x == x ? x : V{}; }

inline V exponent_of(V x) {  // of normal numbers
  return (V)(((W)magnitude(x) >> 52) | (W)all(INTEGER)) - (INTEGER + 1023);
}

inline V clipped_power(V exponent) {
  exponent = exponent > 1000.0 ? all(1000.0) : exponent;
  return power(exponent < -1000.0 ? all(-1000.0) : exponent);
}

inline V truncated(V x) {  // toward zero, below 2^52, or special
  const V size = magnitude(x), nearest = (size + INTEGER) - INTEGER;
  return (V)((W)(nearest > size ? nearest - 1.0 : nearest) | sign(x));
}

inline V jammed(V size) {  // a magnitude below 2^52, to odd integers; specials stay
  const V whole = truncated(size);
  return (V)((W)(whole + INTEGER) | ((whole != size) & 1)) - INTEGER;
}

}  // namespace
