static const M_format M_state_format = ${ wide_format(state) };
% set has_acc = options.target is none

% if not is_short
% include "fixed.h"
% endif
/* The sum of addends, each cut kept bits below the largest exponent of those that are not zero: truncated there, or
   rounded to odd. */
static inline M_number M_aligned(const M_code *p, int count, int kept, int odd) {
  int top = M_NONE;
  int64_t total = 0;
  M_UNROLLED
  for (int i = 0; i < count; i++)
    if (p[i].n && p[i].row > top) top = p[i].row;
  M_UNROLLED
  for (int i = 0; i < count; i++) {
    int right = p[i].n ? top - kept - p[i].e : 0;
    uint64_t lost = right <= 0 ? 0 : right < 64 ? p[i].n & (((uint64_t)1 << right) - 1) : p[i].n;
    int64_t part = (int64_t)(right <= 0 ? p[i].n << -right : right < 64 ? p[i].n >> right : 0) | (odd && lost);
    total += p[i].sign ? -part : part;
  }
  return M_normalized((uint64_t)(total < 0 ? -total : total), top - kept, total < 0, M_FINITE);
}

/* The sum, exact or rounded to odd; a zero is negative if all addends are. */
static inline M_number M_total(const M_code *p, int count) {
% if is_short
  M_number x = M_aligned(p, count, 58, 1);  /* only one addend can be cut: it is far below the last bit of the other */
% else
  M_fixed total = { { 0 } };
  for (int i = 0; i < count; i++) M_add(&total, p[i].n, p[i].e - M_LSB, p[i].sign);
  M_number x = M_value(total);
% endif
  for (int i = 0; i < count && !x.sig; i++) x.sign = i ? x.sign & p[i].sign : p[i].sign;
  return x;
}

% if mode.is_stochastic
/* Rounded toward zero, or away from it if the number reaches threshold / 2^N of the way, with random words of N bits. */
static inline uint32_t M_drawn(M_number x, uint64_t threshold) {
  uint32_t bits = M_pack(x, M_state_format, M_TOWARD_ZERO, ${ pack_bits });
  M_code low = M_unpack(bits, M_state_format), gap = { 1, 0, 0, 0, M_FINITE };
  if (low.kind) return bits;
  if (!low.n) gap = M_unpack(1, M_state_format);
  uint64_t n = (low.n << ${ options.random_bits }) + threshold * gap.n;
  return bits + (M_compare(x, M_normalized(n, low.e - ${ options.random_bits }, 0, M_FINITE)) >= 0);
}

% endif
/* The rounded sum of addends, which are cut kept bits below the largest unless kept is 0. */
static inline uint32_t M_sum(const M_in *in, const M_code *p, int count, int kept, int *flags) {
  (void)in;
  M_number exact = { 0, M_NONE, 0, M_FINITE };
  int kinds = 0, seen = 0, first = ${ "count - 1" if has_acc else 0 };
  M_UNROLLED
  for (int i = 0; i < count; i++) kinds |= p[i].kind;
  if (kinds) {
    for (int i = 0; i < count; i++) seen |= M_seen(p[i]);
    if (!p[first].kind)  /* of dlfloat16: the sign is that of the accumulator, or else of a lane */
      for (first = 0; !p[first].kind;) first++;
    if (seen & 8 || (seen & 7) == 3) *flags |= M_INVALID;
    exact.kind = seen & 4 || (seen & 3) == 3 ? M_NAN : M_INF, exact.sign = p[first].sign;
    return M_pack(exact, M_state_format, M_TO_ODD, ${ state.fraction_bits });
  }
  if (!kept || ${ ("flags" in names)|int }) exact = M_total(p, count);
  M_number x = kept ? M_aligned(p, count, kept, ${ is_bulk|int }) : exact;
% if mode.is_stochastic
  uint32_t bits = M_drawn(x, ((uint64_t)1 << ${ options.random_bits }) - in->random[0]);
% else
  uint32_t bits = M_pack(x, M_state_format, M_${ mode.name }, ${ pack_bits });
% endif
% if "flags" in names or "overflow" in names
  M_code result = M_unpack(bits, M_state_format);
  if (result.kind) *flags |= M_OVERFLOW;
% if not is_bulk
  const M_number normal = ${ number(state.smallest_normal) };
  int inexact = result.kind || M_compare(exact, M_number_of(result));
  *flags |= (inexact ? M_INEXACT : 0) | (inexact && M_compare(exact, normal) < 0 ? M_UNDERFLOW : 0);
% endif
% endif
% if is_bulk or options.zero == "positive"
  if (bits == ${ state.sign_bit }) bits = 0;
% endif
  return bits;
}

/* ${ "The accumulator plus all" if has_acc else "The sum of the" } products. */
static inline void M_core(const M_in *in, M_out *out) {
  M_code p[${ lanes + has_acc|int }];
  int flags = 0;
  M_products(in, p);
% if has_acc
  p[${ lanes }] = M_unpack((uint32_t)in->acc_in[0], M_state_format);
% endif
% if is_bulk
  /* RISC-V's bulk normalization: the dot product, rounded to odd, then its sum with the accumulator, again to odd. */
  M_code two[2];
  two[0] = M_unpack(M_sum(in, p, ${ lanes }, ${ kept }, &flags), M_state_format), two[1] = p[${ lanes }];
  out->acc_out[0] = M_sum(in, two, 2, 0, &flags);
% else
  out->acc_out[0] = M_sum(in, p, ${ lanes + has_acc|int }, ${ kept }, &flags);
% endif
% include "status.h"
}
