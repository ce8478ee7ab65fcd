% set a, b, width = options.a_format, options.b_format, unit.value_width if unit else 0
${ decoding("a", a) }
${ decoding("b", b) }
% if options.block_scale
${ decoding("scale", options.block_scale) }
% endif
/* -- sums of products */

/* Whether +infinity, -infinity, a NaN, and an invalid operation are among addends: bits 0 to 3. */
static inline int M_seen(M_code x) { return x.kind == M_INF ? 1 << x.sign : x.kind == M_NAN ? (x.n ? 4 : 12) : 0; }

static inline M_code M_product(M_code a, M_code b, M_code f) {
  int kind = a.kind | b.kind | f.kind;
  M_code p;
  p.n = a.n * b.n * f.n;
  p.e = (int16_t)(a.e + b.e + f.e), p.row = (int16_t)(a.row + b.row + f.row);
  p.sign = a.sign ^ b.sign ^ f.sign, p.kind = (uint8_t)(kind == M_INF && !p.n ? M_NAN : kind < M_NAN ? kind : M_NAN);
  if (kind >= M_NAN) p.n = 1;
  return p;
}

static inline void M_products(const M_inputs *in, M_code *p) {
  const M_code one = { 1, 0, 0, 0, M_FINITE };
  M_code factor = one;
% if options.block_scale
  factor = M_product(M_decode_scale((uint32_t)in->a_scale[0]), M_decode_scale((uint32_t)in->b_scale[0]), one);
% elif options.scale_bits
  factor.e = factor.row = (int16_t)M_signed(in->scale[0], ${ options.scale_bits });
% endif
  M_UNROLLED
  for (int lane = 0; lane < ${ lanes }; lane++) {
    M_code a = M_decode_a((uint32_t)M_get(in->a, lane * ${ a.width }, ${ a.width }));
    p[lane] = M_product(a, M_decode_b((uint32_t)M_get(in->b, lane * ${ b.width }, ${ b.width })), factor);
  }
}

% if not unit
% include "rounded.h"
% else
% include "fixed.h"
/* The accumulator plus all products, without rounding. */
static inline void M_core(const M_inputs *in, M_outputs *out) {
  M_code p[${ lanes }];
  M_fixed total = M_value_of(in->acc_in);
  int seen = (int)M_get(in->acc_in, ${ width }, 3), flags = 0;
  M_products(in, p);
  for (int i = 0; i < ${ lanes }; i++) {
    seen |= M_seen(p[i]);
    if (!p[i].kind) M_add(&total, p[i].n, p[i].e - M_LSB, p[i].sign);
  }
  if (seen & 8 || (seen & 7) == 3) flags = M_INVALID;
  if ((seen & 3) == 3) seen |= 4;
  for (int i = 0; i < ${ unit.limbs }; i++) out->acc_out[i] = 0;
  for (int i = 0; 64 * i < ${ width }; i++)
    M_put(out->acc_out, 64 * i, ${ width } - 64 * i < 64 ? ${ width } - 64 * i : 64, total.limb[i]);
  M_put(out->acc_out, ${ width }, 3, (uint64_t)seen);
  M_fixed kept = M_value_of(out->acc_out);
  for (int i = 0; i < M_LIMBS; i++) flags |= kept.limb[i] != total.limb[i] ? M_OVERFLOW : 0;
% include "status.h"
}
% endif
