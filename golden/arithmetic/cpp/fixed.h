// Fixed point: limbs, little end first, in two's complement.

#pragma once

#include "vectors.h"

namespace {

// Add x, a multiple of 2^lsb_exponent.
inline void add_number(uint64_t *limbs, int64_t count, double x, int64_t lsb_exponent) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  const int64_t field = (bits >> 52) & 0x7FF;
  if (field == 0) return;
  const uint64_t significand = (bits & 0xFFFFFFFFFFFFFull) | 1ull << 52;
  int64_t shift = field - 1075 - lsb_exponent;
  unsigned __int128 addend = significand;
  if (shift < 0) addend >>= -shift, shift = 0;
  addend <<= shift % 64;
  int64_t limb = shift / 64;
  uint64_t words[2] = {(uint64_t)addend, (uint64_t)(addend >> 64)};
  unsigned char carry = 0;
  for (int64_t i = 0; limb < count; i++, limb++) {
    const uint64_t word = i < 2 ? words[i] : 0;
    if (i >= 2 && !carry) break;
    const unsigned __int128 total = bits >> 63 ? (unsigned __int128)limbs[limb] - word - carry
                                               : (unsigned __int128)limbs[limb] + word + carry;
    limbs[limb] = (uint64_t)total;
    carry = (uint64_t)(total >> 64) != 0;
  }
}

double rounded_to_odd(uint64_t *limbs, int64_t count, int64_t lsb_exponent) {
  const bool negative = limbs[count - 1] >> 63;
  if (negative) {
    unsigned char carry = 1;
    for (int64_t i = 0; i < count; i++) {
      limbs[i] = ~limbs[i] + carry;
      carry = carry && limbs[i] == 0;
    }
  }
  int64_t top = count - 1;
  while (top >= 0 && limbs[top] == 0) top--;
  if (top < 0) return 0;
  const int left = __builtin_clzll(limbs[top]);
  uint64_t word = limbs[top] << left, rest = 0;
  if (top > 0) {
    if (left) word |= limbs[top - 1] >> (64 - left);
    rest = limbs[top - 1] << left;
    for (int64_t i = 0; i < top - 1; i++) rest |= limbs[i];
  }
  const uint64_t kept = (word >> 11) | ((word & 0x7FF) | rest ? 1 : 0);
  const double x = (double)kept * scalar_power(64 * top - left + 11 + lsb_exponent);
  return negative ? -x : x;
}

}  // namespace
