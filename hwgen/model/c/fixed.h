/* -- fixed point: words in two's complement, whose last bit weighs 2^M_LSB */

enum { M_LSB = ${ lsb }, M_LIMBS = ${ limbs } };
typedef struct { uint64_t limb[M_LIMBS]; } M_fixed;

/* Add n * 2^place, or subtract it. */
static inline void M_add(M_fixed *x, uint64_t n, int place, int negative) {
  uint64_t low = n << (place & 63), high = n >> 1 >> (63 - (place & 63)), carry = (uint64_t)negative;
  for (int i = 0; i < M_LIMBS; i++) {
    uint64_t word = i == place >> 6 ? low : i == (place >> 6) + 1 ? high : 0;
    uint64_t addend = negative ? ~word : word, partial = x->limb[i] + addend;
    x->limb[i] = partial + carry;
    carry = (partial < addend) | (x->limb[i] < carry);
  }
}

static inline M_number M_value(M_fixed x) {
  uint8_t sign = (uint8_t)(x.limb[M_LIMBS - 1] >> 63);
  uint64_t flip = sign ? ~(uint64_t)0 : 0, carry = sign, rest = 0;
  int top = 0;
  for (int i = 0; i < M_LIMBS; i++) {
    x.limb[i] = (x.limb[i] ^ flip) + carry, carry &= x.limb[i] == 0;
    if (x.limb[i]) top = i;
  }
  M_number y = M_normalized(x.limb[top], M_LSB + 64 * top, sign, M_FINITE);
  if (top) {
    int left = M_LSB + 64 * top + 63 - y.exp;
    if (left) y.sig |= x.limb[top - 1] >> (64 - left);
    for (int i = 0; i < top; i++) rest |= i < top - 1 ? x.limb[i] : x.limb[i] << left;
    y.sig |= rest != 0;
  }
  return y;
}

% if unit
/* The value of an exact accumulator, {nan, neg_inf, pos_inf, value}. */
static inline M_fixed M_value_of(const uint64_t *acc) {
  const uint64_t sign = M_get(acc, ${ unit.value_width - 1 }, 1) ? ~(uint64_t)0 : 0;
  M_fixed x;
  for (int i = 0; i < M_LIMBS; i++) {
    int width = ${ unit.value_width } - 64 * i;
    x.limb[i] = width >= 64 ? acc[i] : width > 0 ? M_get(acc, 64 * i, width) | sign << width : sign;
  }
  return x;
}

% endif
