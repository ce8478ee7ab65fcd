/* The accumulator plus all products, without rounding. */
static inline void M_core(const M_in *in, M_out *out) {
  M_code a[M_LANES], b[M_LANES], factor = M_factor(in);
  M_specials seen = { 0, 0, 0, 0 };
  M_fixed total = M_value_bits(in->acc_in);
  seen.plus = (int)M_get(in->acc_in, M_VALUE_BITS, 1), seen.minus = (int)M_get(in->acc_in, M_VALUE_BITS + 1, 1);
  seen.nan = (int)M_get(in->acc_in, M_VALUE_BITS + 2, 1);
  M_factors(in, a, b);
  for (int i = 0; i < M_LANES; i++) {
    M_code p = M_product(a[i], b[i], factor);
    M_see(p, &seen);
    if (!p.kind) M_add(&total, p.n, p.e - M_LSB, p.sign);
  }
  int invalid = seen.undefined || (seen.plus && seen.minus && !seen.nan);
  int specials = seen.plus | seen.minus << 1 | (seen.nan || (seen.plus && seen.minus)) << 2;
  for (int i = 0; i < M_ACC_WORDS; i++) {
    int width = M_VALUE_BITS - 64 * i;
    out->acc_out[i] = width >= 64 ? total.limb[i] : width > 0 ? M_get(&total.limb[i], 0, width) : 0;
  }
  M_put(out->acc_out, M_VALUE_BITS, 3, (uint64_t)specials);
  M_fixed kept = M_value_bits(out->acc_out);
  int overflow = 0;
  for (int i = 0; i < M_LIMBS; i++) overflow |= kept.limb[i] != total.limb[i];
  M_status(out, (overflow ? M_OVERFLOW : 0) | (invalid ? M_INVALID : 0));
}

