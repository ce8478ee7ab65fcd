/* The sum, exact or rounded to odd; a zero is negative if all addends are. */
static inline M_number M_exact_sum(const M_code *p, int count) {
  M_number x = M_total(p, count);
  uint8_t negative = 1;
  for (int i = 0; i < count; i++) negative &= p[i].sign;
  if (!x.sig) x.sign = negative;
  return x;
}

static inline uint32_t M_round_to_odd(M_number x) {
  if (!x.sig) x.sign = 0;
  return M_pack(x, M_STATE, M_TO_ODD, M_FRACTION_BITS);
}

/* RISC-V's bulk normalization: the dot product, rounded to odd, then its sum with the accumulator, again to odd. */
static inline uint32_t M_bulk_sum(const M_code *p, uint32_t before, int *flags) {
  M_code acc = p[M_LANES], two[2];
  M_specials seen = { 0, 0, 0, 0 };
  for (int i = 0; i < M_LANES; i++) M_see(p[i], &seen);
  int special = seen.nan | seen.plus | seen.minus, overflow;
  two[0] = M_unpack(M_round_to_odd(M_aligned(p, M_LANES, M_KEPT_BITS, 1)), M_STATE), two[1] = acc;
  overflow = !special && two[0].kind;
  if (special) {
    two[0].kind = seen.nan || (seen.plus && seen.minus) ? M_NAN : M_INF;
    two[0].sign = (uint8_t)seen.minus;
  }
  int opposite = two[0].kind == M_INF && acc.kind == M_INF && two[0].sign != acc.sign;
  int invalid = seen.undefined || (seen.plus && seen.minus && !seen.nan) || opposite || M_is_signaling(acc, before, M_STATE);
  *flags = (overflow ? M_OVERFLOW : 0) | (invalid ? M_INVALID : 0);
  M_number x = M_exact_sum(two, 2);
  if (two[0].kind | acc.kind) {
    x.kind = (two[0].kind | acc.kind) & M_NAN || opposite ? M_NAN : M_INF;
    x.sign = two[0].kind == M_INF ? two[0].sign : acc.sign;
    return M_pack(x, M_STATE, M_TO_ODD, M_FRACTION_BITS);
  }
  uint32_t bits = M_round_to_odd(x);
  if (M_unpack(bits, M_STATE).kind) *flags |= M_OVERFLOW;
  return bits;
}

static inline int M_flags_of(M_number exact, uint32_t bits) {
  M_code result = M_unpack(bits, M_STATE);
  M_number y = M_number_of(result);
  int inexact = result.kind || M_compare(exact, y.exp, y.sig);
  int tiny = M_compare(exact, M_SMALLEST_NORMAL.exp, M_SMALLEST_NORMAL.sig) < 0;
  return (inexact ? M_INEXACT : 0) | (inexact && tiny ? M_UNDERFLOW : 0) | (result.kind ? M_OVERFLOW : 0);
}

/* The sum of addends, some of them special; the accumulator is the last. */
static inline uint32_t M_special_sum(const M_code *p, uint32_t before, int *flags) {
  M_specials seen = { 0, 0, 0, 0 };
  M_number x = { 0, M_NONE, 0, M_INF };
  int first = p[M_LANES].kind ? M_LANES : 0;  /* of dlfloat16: the sign is that of the accumulator, or else of a lane */
  while (!p[first].kind) first++;
  for (int i = 0; i <= M_LANES; i++) M_see(p[i], &seen);
  int opposite = seen.plus && seen.minus && !seen.nan;
  if (seen.nan || opposite) x.kind = M_NAN;
  if (seen.undefined || opposite || M_is_signaling(p[M_LANES], before, M_STATE)) *flags = M_INVALID;
  x.sign = p[first].sign;
  return M_pack(x, M_STATE, M_TO_ODD, M_FRACTION_BITS);
}

/* The accumulator plus all products. */
static inline void M_core(const M_in *in, M_out *out) {
  M_code a[M_LANES], b[M_LANES], p[M_LANES + 1], factor = M_factor(in);
  uint32_t before = (uint32_t)in->acc_in[0], bits;
  int flags = 0;
  uint8_t kinds;
  M_factors(in, a, b);
  p[M_LANES] = M_unpack(before, M_STATE), kinds = p[M_LANES].kind;
  M_UNROLLED
  for (int i = 0; i < M_LANES; i++) {
    p[i] = M_product(a[i], b[i], factor);
    kinds |= p[i].kind;
  }
  if (M_IS_BULK) {
    bits = M_bulk_sum(p, before, &flags);
  } else if (kinds) {
    bits = M_special_sum(p, before, &flags);
  } else {
    M_number exact = { 0, M_NONE, 0, M_FINITE };
    if (!M_ALIGNED_BITS || M_HAS_FLAGS) exact = M_exact_sum(p, M_LANES + 1);
    bits = M_pack(M_ALIGNED_BITS ? M_aligned(p, M_LANES + 1, M_ALIGNED_BITS, 0) : exact, M_STATE, M_ROUNDING, M_KEPT_BITS);
    if (M_HAS_FLAGS) flags = M_flags_of(exact, bits);
    if (M_ZERO_IS_POSITIVE && bits == 1u << (M_STATE_WIDTH - 1)) bits = 0;
  }
  out->acc_out[0] = bits;
  M_status(out, flags);
}

