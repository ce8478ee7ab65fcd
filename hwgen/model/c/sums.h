/* -- sums of products */

static const M_code M_ONE = { 1, 0, 0, 0, M_FINITE };

/* What is special about the addends of a sum. */
typedef struct { int plus, minus, nan, undefined; } M_specials;

/* The product of two codes and a factor; n of one that is special is 1, and of 0 * infinity 0. */
static inline M_code M_product(M_code a, M_code b, M_code f) {
  M_code p;
  p.n = a.n * b.n * f.n;
  p.e = (int16_t)(a.e + b.e + f.e), p.row = (int16_t)(a.row + b.row + f.row);
  p.sign = a.sign ^ b.sign ^ f.sign, p.kind = a.kind | b.kind | f.kind;
  if (p.kind) {
    p.kind = p.kind == M_INF && p.n ? M_INF : M_NAN;
    p.n = (a.kind | b.kind | f.kind) != M_INF || p.n;
  }
  return p;
}

static inline void M_see(M_code x, M_specials *seen) {
  seen->nan |= x.kind == M_NAN, seen->undefined |= x.kind == M_NAN && !x.n;
  seen->plus |= x.kind == M_INF && !x.sign, seen->minus |= x.kind == M_INF && x.sign;
}

static inline void M_factors(const M_in *in, M_code *a, M_code *b) {
  M_UNROLLED
  for (int lane = 0; lane < M_LANES; lane++) {
    a[lane] = M_decode_a((uint32_t)M_get(in->a, lane * M_A_BITS, M_A_BITS));
    b[lane] = M_decode_b((uint32_t)M_get(in->b, lane * M_B_BITS, M_B_BITS));
  }
}

/* A magnitude times 2^place, truncated to an integer, or rounded to odd. */
static inline int64_t M_shifted(uint64_t n, int place, int odd) {
  if (place >= 0) return (int64_t)(n << place);
  uint64_t whole = place > -64 ? n >> -place : 0;
  uint64_t lost = place > -64 ? n & (((uint64_t)1 << -place) - 1) : n;
  return (int64_t)(whole | (odd && lost));
}

/* The sum of addends, each cut some bits below the largest exponent of those that are not zero. */
static inline M_number M_aligned(const M_code *p, int count, int kept, int odd) {
  int top = M_NONE;
  int64_t total = 0;
  M_UNROLLED
  for (int i = 0; i < count; i++)
    if (p[i].n && p[i].row > top) top = p[i].row;
  M_UNROLLED
  for (int i = 0; i < count; i++) {
    int64_t part = M_shifted(p[i].n, p[i].n ? p[i].e + kept - top : 0, odd);
    total += p[i].sign ? -part : part;
  }
  return M_normalized((uint64_t)(total < 0 ? -total : total), top - kept, total < 0, M_FINITE);
}

