% set fmt = core.source
${ decoding("bits", fmt) }
% include "scale.h"
static inline void M_core(const M_inputs *in, M_outputs *out) {
  uint32_t code = (uint32_t)in->amax_in[0];
  M_code largest = M_decode_bits(code);
  for (int lane = 0; lane < ${ core.lanes }; lane++) {
    uint32_t bits = (uint32_t)M_get(in->bits, lane * ${ fmt.width }, ${ fmt.width });
    M_code x = M_decode_bits(bits);
% for kind in ("nan", "infinity") if core[kind] == "ignore"
    if (x.kind == M_${ kind[:3]|upper }) continue;
% endfor
    int special = x.kind | largest.kind;  /* infinity is larger than numbers, and NaN than infinity */
    if (special ? x.kind > largest.kind : M_compare(M_number_of(x), M_number_of(largest)) > 0) largest = x, code = bits;
  }
  if (largest.kind == M_NAN) code = ${ fmt.canonical_nan or 0 };
% set magnitude = "(1u << %d) - code" % fmt.width if fmt.twos_complement else "code & %du" % (fmt.sign_bit - 1)
  else if (largest.sign) code = ${ magnitude };
  out->amax_out[0] = code;
  out->scale[0] = largest.kind ? 0xff : (uint64_t)(M_scale_exponent(M_number_of(largest)) + 127);
}
