static inline void M_core(const M_in *in, M_out *out) {
  uint32_t largest = M_rank((uint32_t)in->amax_in[0]);
  for (int lane = 0; lane < M_LANES; lane++) {
    uint32_t rank = M_rank((uint32_t)M_get(in->bits, lane * M_SOURCE_WIDTH, M_SOURCE_WIDTH));
    if (M_IGNORES_NAN && rank == M_NAN_RANK) rank = 0;
    if (M_IGNORES_INFINITY && rank == M_INFINITY_RANK) rank = 0;
    if (rank > largest) largest = rank;
  }
  M_code x = M_decode_bits(out->amax_out[0] = M_code_of(largest));
  out->scale[0] = x.kind ? 0xff : (uint64_t)(M_scale_exponent(M_number_of(x)) + 127);
}

