${ decoding("bits", core.source) }
% set fmt, rounding, overflow, nan_to_zero = core.fmt, core.rounding, core.overflow, core.nan_to_zero
% set source, random_bits, pin = core.source, core.random_bits, core.rounding_pin
% include "codes.h"
static inline void M_core(const M_inputs *in, M_outputs *out) {
  M_number x = M_number_of(M_decode_bits((uint32_t)in->bits[0]));
  int flags;
% if core.scale_bits
  if (x.sig) x.exp += M_signed(in->scale[0], ${ core.scale_bits });
% endif
  out->code[0] = M_encode(x, in, (uint32_t)in->bits[0], 0, &flags);
% include "status.h"
}
