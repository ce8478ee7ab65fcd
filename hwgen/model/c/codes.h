/* -- codes of ${ fmt.name }: its values, and what lies between two neighbours */

/* Numbers from low on, up to the next step's, have low as their lower neighbour. Above the boundary they round up, on it
   if tie says so. With units of 2^unit, low is first units and the next value gap units more. */
typedef struct { M_number low, boundary; int unit; uint32_t first, gap, code; int tie; } M_step;

% set grid = steps(fmt, rounding)
enum { M_LAST = ${ grid|length - 1 }, M_CODE_BITS = ${ fmt.width } };
static const M_step M_grid[M_LAST + 1] = {
  ${ grid|join(",\n  ") }
};

% if rounding.is_stochastic or rounding.name == "HYBRID"
/* Whether a stochastic rounding goes up: with a random word R of N bits, the threshold is 2^N - R. */
static inline int M_reaches(M_number x, const M_step *step, uint64_t threshold, int tail_bits) {
  uint64_t twice = 2 * threshold - ${ (rounding.name in ("STOCHASTIC_B", "STOCHASTIC_C"))|int };
  uint64_t n = ((uint64_t)step->first << (tail_bits + 1)) + twice * step->gap;
  int above = M_compare(x, M_normalized(n, step->unit - tail_bits - 1, 0, M_FINITE));
  return ${ "threshold % 2 ? above > 0 : " if rounding.name == "STOCHASTIC_C" }above >= 0;
}

% endif
% set no_value = replacements(fmt, rounding, overflow)
% set minus_inf = with_sign(fmt, no_value.minus_inf)
/* The code of a number; bits are the source's, and each lane has a random word. */
static inline uint32_t M_encode(M_number x, const M_inputs *in, uint32_t bits, int lane, int *flags) {
  const M_number normal = ${ number(fmt.smallest_normal) };
  (void)in, (void)lane, (void)bits;
  if (x.kind == M_NAN) {
    *flags = ${ (nan_to_zero or fmt.canonical_nan is none)|int } || !x.sig ? M_INVALID : 0;
    return ${ 0 if nan_to_zero else fmt.canonical_nan or 0 };
  }
  if (x.kind == M_INF) {
% set kept = (fmt.signed and fmt.kinds[minus_inf] == "inf")|int, (fmt.kinds[no_value.plus_inf] == "inf")|int
    *flags = (x.sign ? ${ kept[0] } : ${ kept[1] }) ? 0 : M_INVALID;
    return x.sign ? ${ minus_inf } : ${ no_value.plus_inf };
  }
  int low = 0;
  for (int size = ${ 2 ** ((grid|length - 1).bit_length() - 1) }; size; size /= 2)
    if (low + size <= M_LAST && M_compare(x, M_grid[low + size].low) >= 0) low += size;
  const M_step *step = &M_grid[low];
  int side = M_compare(x, step->boundary), up = side > 0 || (side == 0 && step->tie);
% if rounding.is_stochastic
  const int tail_bits = ${ random_bits };
  uint64_t word = M_get(in->random, lane * tail_bits, tail_bits);
  up = x.sig && M_reaches(x, step, ((uint64_t)1 << tail_bits) - word, tail_bits);
% elif rounding.name == "HYBRID"
  const M_number limit = ${ number(40960) };
% set threshold, tail_bits = ("bits & 0x3fff", 14) if source.name == "binary32" else ("(bits & 1) * 2 + 1", 2)
  if ((x.exp < -3 || x.exp > 3)<% if pin %> && in->hybrid[0]<% endif %>)
    up = (x.exp >= -23 && M_reaches(x, step, ${ threshold }, ${ tail_bits })) || M_compare(x, limit) >= 0;
% elif rounding.name in ("TOWARD_POSITIVE", "TOWARD_NEGATIVE")
  up &= ${ "!" if rounding.name == "TOWARD_POSITIVE" }x.sign;
% endif
  if (low == M_LAST) up = 0;
  int index = low + up;
% if fmt.posit_rounding or not fmt.has_zero
  if (!index && x.sig) index = 1;
% endif
  int past = index >= M_LAST - (${ fmt.has_lowest|int } && !x.sign) || (${ (not fmt.signed)|int } && x.sign && index);
  const M_step *value = &M_grid[index < M_LAST ? index : M_LAST - 1];
  int inexact = past || M_compare(x, value->low)<% if not fmt.has_zero %> || !x.sig<% endif %>;
  *flags = (inexact ? M_INEXACT : 0) | (inexact && x.sig && M_compare(x, normal) < 0 ? M_UNDERFLOW : 0) |
           (past ? M_OVERFLOW : 0);
  if (past) return x.sign ? ${ with_sign(fmt, no_value.below) } : ${ no_value.above };
% if not fmt.has_zero
  if (!x.sig) return ${ no_value.zero };
% endif
% if fmt.twos_complement
  if (x.sign) return ((1u << M_CODE_BITS) - value->code) & ((1u << M_CODE_BITS) - 1);
% elif fmt.signed
  if (x.sign<% if not fmt.has_negative_zero %> && value->code<% endif %>) return value->code | 1u << (M_CODE_BITS - 1);
% endif
  return value->code;
}

