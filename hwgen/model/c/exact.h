/* -- exact accumulators: {nan, neg_inf, pos_inf, value} */

static inline M_fixed M_value_bits(const uint64_t *acc) {
  M_fixed x;
  for (int i = 0; i < M_LIMBS; i++) {
    int width = M_VALUE_BITS - 64 * i;
    uint64_t sign = M_get(acc, M_VALUE_BITS - 1, 1) ? ~(uint64_t)0 : 0;
    x.limb[i] = width >= 64 ? acc[i] : width > 0 ? M_get(acc, 64 * i, width) | sign << width : sign;
  }
  return x;
}

