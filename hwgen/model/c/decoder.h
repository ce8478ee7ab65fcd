static inline void M_core(const M_in *in, M_out *out) {
  M_code x = M_decode_code((uint32_t)in->code[0]);
  out->bits[0] = M_pack(M_number_of(x), M_TARGET, M_ROUNDING, M_FRACTION_BITS);
}

