% set fmt, rounding, overflow, random_bits = core.fmt, core.rounding, core.overflow, core.random_bits
% set source = wide(core.source)
${ decoding("bits", source) }
% include "codes.h"
% include "scale.h"
static inline void M_core(const M_inputs *in, M_outputs *out) {
  uint32_t peak = 0, bits[${ core.lanes }];
  int flags;
  for (int lane = 0; lane < ${ core.lanes }; lane++) {
    bits[lane] = (uint32_t)M_get(in->bits, lane * ${ source.width }, ${ source.width });
    if ((bits[lane] & ${ source.sign_bit - 1 }) > peak) peak = bits[lane] & ${ source.sign_bit - 1 };
  }
  M_code largest = M_decode_bits(peak);
  int exponent = M_scale_exponent(M_number_of(largest));
  out->scale[0] = largest.kind ? 0xff : (uint64_t)(exponent + 127);
  for (int lane = 0; lane < ${ core.lanes } && !largest.kind; lane++) {
    M_number x = M_number_of(M_decode_bits(bits[lane]));
    if (x.sig) x.exp -= exponent;
    M_put(out->codes, lane * M_CODE_BITS, M_CODE_BITS, M_encode(x, in, bits[lane], lane, &flags));
  }
}
