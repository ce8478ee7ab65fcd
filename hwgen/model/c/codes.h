/* -- codes: the values of the format, and what lies between two neighbours */

/* Numbers from low on, up to the next step's, have low as their lower neighbour. Ties are at the middle; tie says where
   they go, or whether the code is odd. With units of 2^unit, low is first units and the next value gap units more. */
typedef struct { uint64_t low, middle; int16_t low_exp, middle_exp, unit; uint32_t first, gap, code; uint8_t tie; } M_step;

/* Whether a stochastic rounding goes up: with a random word R of N bits, the threshold is 2^N - R. */
static inline int M_reaches(M_number x, const M_step *step, uint64_t threshold, int tail_bits, int rounding) {
  int right = 63 - x.exp - (tail_bits + 1 - step->unit);  /* to twice the position between the neighbours, times 2^N */
  uint64_t twice = right > 63 ? 0 : x.sig >> right;
  int rest = right > 63 ? x.sig != 0 : (x.sig & (((uint64_t)1 << right) - 1)) != 0;
  uint64_t middle = (2 * threshold - 1) * step->gap;
  twice -= (uint64_t)step->first << (tail_bits + 1);
  if (rounding == M_STOCHASTIC_B) return twice >= middle;
  if (rounding == M_STOCHASTIC_C) return twice >= middle && (twice > middle || rest || threshold % 2 == 0);
  return twice >> 1 >= threshold * step->gap;
}

/* The code of a number, and flags without those of signaling NaNs. */
static inline uint32_t M_encode(M_number x, int rounding, uint64_t threshold, int tail_bits, int *flags) {
  *flags = 0;
  if (x.kind == M_NAN) {
    *flags = M_NAN_IS_LOST ? M_INVALID : 0;
    return M_NAN_CODE;
  }
  if (x.kind == M_INF) {
    *flags = (x.sign ? M_MINUS_INF_IS_LOST : M_PLUS_INF_IS_LOST) ? M_INVALID : 0;
    return x.sign ? M_MINUS_INF : M_PLUS_INF;
  }
  int low = 0, high = M_STEPS + 1;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (M_compare(x, M_grid[middle].low_exp, M_grid[middle].low) >= 0) low = middle;
    else high = middle;
  }
  const M_step *step = &M_grid[low];
  int past_half = M_compare(x, step->middle_exp, step->middle), up = 0;
  int above = low ? M_compare(x, step->low_exp, step->low) > 0 : M_compare(x, M_FLUSH.exp, M_FLUSH.sig) > 0;
  if (low < M_STEPS) switch (rounding) {
    case M_TIES_TO_EVEN: case M_TIES_TO_AWAY: up = past_half > 0 || (past_half == 0 && step->tie); break;
    case M_TOWARD_POSITIVE: up = above && !x.sign; break;
    case M_TOWARD_NEGATIVE: up = above && x.sign; break;
    case M_TO_ODD: up = above && !step->tie; break;
    case M_STOCHASTIC: case M_STOCHASTIC_B: case M_STOCHASTIC_C:
      up = x.sig && M_reaches(x, step, threshold, tail_bits, rounding);
      break;
    case M_HYBRID:
      up = x.exp >= -3 && x.exp <= 3 ? past_half >= 0 : x.exp >= -23 && M_reaches(x, step, threshold, tail_bits, rounding);
      up |= M_compare(x, 15, (uint64_t)5 << 61) >= 0;
      break;
    case M_MPTORCH:
      up = low && (low == M_STEPS - 1 ? above : past_half > 0 || (past_half == 0 && step->tie));
      break;
    default: break;
  }
  int index = low + up;
  if (!M_KEEPS_SMALL && !index && x.sig) index = 1;
  int past = index >= M_STEPS - (M_HAS_LOWEST && !x.sign) || (!M_IS_SIGNED && x.sign && index);
  const M_step *value = &M_grid[index < M_STEPS ? index : M_STEPS - 1];
  int inexact = past || M_compare(x, value->low_exp, value->low) || (!M_HAS_ZERO && !x.sig);
  int tiny = x.sig && M_compare(x, M_SMALLEST_NORMAL.exp, M_SMALLEST_NORMAL.sig) < 0;
  *flags = (inexact ? M_INEXACT : 0) | (inexact && tiny ? M_UNDERFLOW : 0) | (past ? M_OVERFLOW : 0);
  if (past) return x.sign ? M_BELOW : M_ABOVE;
  if (!M_HAS_ZERO && !x.sig) return M_ZERO_CODE;
  if (!x.sign) return value->code;
  if (M_IS_TWOS_COMPLEMENT) return ((1u << M_CODE_BITS) - value->code) & ((1u << M_CODE_BITS) - 1);
  return value->code | (M_IS_SIGNED && (value->code || M_HAS_NEGATIVE_ZERO) ? 1u << (M_CODE_BITS - 1) : 0);
}

