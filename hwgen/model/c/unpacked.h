static inline void M_core(const M_in *in, M_out *out) {
  M_code x = M_decode_code((uint32_t)in->code[0]);
  M_number y = M_number_of(x);
  int is_number = x.kind == M_FINITE && x.n;
  out->sign[0] = x.sign;
  out->exponent[0] = is_number ? (uint64_t)(int64_t)y.exp & (((uint64_t)1 << M_EXPONENT_BITS) - 1) : 0;
  out->significand[0] = is_number ? y.sig >> (64 - M_SIGNIFICAND_BITS) : 0;
  out->is_zero[0] = x.kind == M_FINITE && !x.n;
  out->is_inf[0] = x.kind == M_INF, out->is_nan[0] = x.kind == M_NAN;
}

