/* -- numbers and words */

enum { M_FINITE, M_INF, M_NAN };
enum { M_${ Rounding|map(attribute="name")|join(", M_") } };
enum { M_INEXACT = 1, M_UNDERFLOW = 2, M_OVERFLOW = 4, M_INVALID = 8 };

/* What a code stands for: n * 2^e. The number before 2^row is its significand. Of what is no number, n is 1; it is 0
   for signaling NaNs, and NaNs that an operation makes. */
typedef struct { uint64_t n; int16_t e, row; uint8_t sign, kind; } M_code;

/* A normalized number, sig * 2^(exp - 63). The last bit of sig is also set if there are further ones: it is rounded to
   odd. A zero has sig 0 and the exponent M_NONE. */
typedef struct { uint64_t sig; int exp; uint8_t sign, kind; } M_number;
enum { M_NONE = -30000 };

/* A format with a biased exponent field and a fraction; without subnormals it is dlfloat16. */
typedef struct { int width, fraction_bits, bias, has_subnormals; uint32_t nan; } M_format;

#if defined(__GNUC__)
#define M_UNROLLED _Pragma("GCC unroll 4")
#else
#define M_UNROLLED
#endif

/* Bits of a word, which has its least significant 64 bits first. */
static inline uint64_t M_get(const uint64_t *word, int place, int width) {
  uint64_t bits = word[place >> 6] >> (place & 63);
  if ((place & 63) + width > 64) bits |= word[(place >> 6) + 1] << (64 - (place & 63));
  return width < 64 ? bits & (((uint64_t)1 << width) - 1) : bits;
}

/* Set bits of a word that are 0. */
static inline void M_put(uint64_t *word, int place, int width, uint64_t bits) {
  if (width < 64) bits &= ((uint64_t)1 << width) - 1;
  word[place >> 6] |= bits << (place & 63);
  if ((place & 63) + width > 64) word[(place >> 6) + 1] |= bits >> (64 - (place & 63));
}

/* A number in two's complement. */
static inline int M_signed(uint64_t bits, int width) { return (int)bits - (bits >> (width - 1) ? 1 << width : 0); }

static inline M_code M_unpack(uint32_t bits, M_format f) {
  uint32_t fraction = bits & ((1u << f.fraction_bits) - 1), top = (1u << (f.width - 1 - f.fraction_bits)) - 1;
  uint32_t field = bits >> f.fraction_bits & top;
  M_code x;
  x.sign = (uint8_t)(bits >> (f.width - 1) & 1);
  x.n = fraction | (uint64_t)(f.has_subnormals ? field != 0 : (field | fraction) != 0) << f.fraction_bits;
  x.row = (int16_t)((f.has_subnormals && !field ? 1 : (int)field) - f.bias);
  x.e = (int16_t)(x.row - f.fraction_bits);
  x.kind = M_FINITE;
  if (field == top && f.has_subnormals) x.kind = fraction ? M_NAN : M_INF;
  if (field == top && !f.has_subnormals && fraction == (1u << f.fraction_bits) - 1) x.kind = M_NAN;
  if (x.kind) x.n = x.kind == M_INF || !f.has_subnormals || fraction >> (f.fraction_bits - 1);
  return x;
}

static inline M_number M_normalized(uint64_t n, int e, uint8_t sign, uint8_t kind) {
  M_number x = { 0, M_NONE, 0, 0 };
  x.sign = sign, x.kind = kind;
  if (n) {
#if defined(__GNUC__)
    int left = __builtin_clzll(n);
#else
    int left = 0;
    while (!(n << left >> 63)) left++;
#endif
    x.sig = n << left, x.exp = e + 63 - left;
  }
  return x;
}

static inline M_number M_number_of(M_code x) { return M_normalized(x.n, x.e, x.sign, x.kind); }

/* The sign of x - y, of magnitudes. */
static inline int M_compare(M_number x, M_number y) {
  return x.exp != y.exp ? (x.exp > y.exp) - (x.exp < y.exp) : (x.sig > y.sig) - (x.sig < y.sig);
}

/* Bits of a number in a format, rounded to a number of fraction bits; overflow becomes infinity or dlfloat16's NaN. */
static inline uint32_t M_pack(M_number x, M_format f, int rounding, int fraction_bits) {
  uint32_t sign = (uint32_t)x.sign << (f.width - 1);
  int lowest = f.has_subnormals - f.bias, drop = 62 - fraction_bits;
  int64_t top = ((int64_t)1 << (f.width - 1)) - (f.has_subnormals ? (int64_t)1 << f.fraction_bits : 1), bits;
  if (x.kind == M_NAN) return f.has_subnormals ? f.nan : (uint32_t)top | sign;
  if (x.kind == M_INF) return (uint32_t)top | sign;
  uint64_t sig = x.sig >> 1 | (x.sig & 1);
  if (f.has_subnormals && x.exp < lowest) drop += lowest - x.exp;
  if (drop > 63) drop = 63, sig = sig != 0;
  uint64_t rest = sig & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1), odd = sig >> drop & 1;
  int up = rounding == M_TIES_TO_EVEN ? rest + odd > half : rounding == M_TIES_TO_AWAY ? rest >= half :
           rounding == M_TO_ODD && rest && !odd;
  bits = (int64_t)((sig >> drop) + (uint64_t)up) << (f.fraction_bits - fraction_bits);
  if (x.exp >= lowest || !f.has_subnormals)
    bits += (int64_t)(x.exp - lowest - !f.has_subnormals) * ((int64_t)1 << f.fraction_bits);
  return (uint32_t)(bits < 0 ? 0 : bits > top ? top : bits) | sign;
}

