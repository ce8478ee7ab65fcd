static inline void M_core(const M_in *in, M_out *out) {
  uint32_t mask = (1u << (M_SOURCE_WIDTH - 1)) - 1, peak = 0, bits[M_LANES];
  int flags;
  for (int lane = 0; lane < M_LANES; lane++) {
    bits[lane] = (uint32_t)M_get(in->bits, lane * M_SOURCE_WIDTH, M_SOURCE_WIDTH);
    if ((bits[lane] & mask) > peak) peak = bits[lane] & mask;
  }
  M_code largest = M_decode_bits(peak);
  int exponent = M_scale_exponent(M_number_of(largest));
  for (unsigned i = 0; i < sizeof out->codes / sizeof out->codes[0]; i++) out->codes[i] = 0;
  out->scale[0] = largest.kind ? 0xff : (uint64_t)(exponent + 127);
  for (int lane = 0; lane < M_LANES && !largest.kind; lane++) {
    M_number x = M_number_of(M_decode_bits(bits[lane]));
    if (x.sig) x.exp -= exponent;
    uint64_t threshold = M_threshold(bits[lane], M_random(in, lane));
    M_put(out->codes, lane * M_CODE_BITS, M_CODE_BITS, M_encode(x, M_rounding(in), threshold, M_TAIL_BITS, &flags));
  }
}

