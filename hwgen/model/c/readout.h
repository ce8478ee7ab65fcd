/* The value of an accumulator, infinities and NaN by its flags. */
static inline M_number M_read(const M_in *in) {
  M_number x = M_value(M_value_bits(in->acc));
  int specials = (int)M_get(in->acc, M_VALUE_BITS, 3);
  if (x.sig) x.exp += M_scale(in);
  if (specials) x.sign = specials & 4 ? 0 : !(specials & 1), x.kind = specials & 4 ? M_NAN : M_INF;
  return x;
}

static inline void M_core(const M_in *in, M_out *out) {
  uint32_t bits = M_round(M_read(in), in);
  if (M_ZERO_IS_POSITIVE && M_HAS_NEGATIVE_ZERO && bits == 1u << (M_TARGET_WIDTH - 1)) bits = 0;
  out->M_RESULT[0] = bits;
}

