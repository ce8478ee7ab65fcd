static inline void M_core(const M_in *in, M_out *out) {
  uint32_t bits = (uint32_t)in->bits[0];
  M_code source = M_decode_bits(bits);
  M_number x = M_number_of(source);
  int flags;
  if (x.sig) x.exp += M_scale(in);
  uint32_t code = M_encode(x, M_rounding(in), M_threshold(bits, M_random(in, 0)), M_TAIL_BITS, &flags);
  if (M_is_signaling(source, bits, M_SOURCE)) flags = M_INVALID;
  out->code[0] = code;
  M_status(out, flags);
}

