% set unit, lsb, limbs = core.exact, core.exact.lsb_exponent, core.exact.value_width // 64 + 1
% include "fixed.h"
% set target, chosen = core.target, core.chosen
% if target.name not in WIDE
% set fmt, rounding, overflow, nan_to_zero = target, chosen.rounding, chosen.overflow, chosen.nan_to_zero
% set random_bits = core.random_bits
% include "codes.h"
% endif
static inline void M_core(const M_inputs *in, M_outputs *out) {
  M_number x = M_value(M_value_of(in->acc));
  int specials = (int)M_get(in->acc, ${ unit.value_width }, 3);
% if core.scale_bits
  if (x.sig) x.exp += M_signed(in->scale[0], ${ core.scale_bits });
% endif
  if (specials) x.sign = specials & 4 ? 0 : !(specials & 1), x.kind = specials & 4 ? M_NAN : M_INF;
% if target.name in WIDE
  const M_format target = ${ wide_format(target) };
  uint32_t bits = M_pack(x, target, M_${ target.roundings[0].name }, ${ target.fraction_bits });
% else
  int flags;
  uint32_t bits = M_encode(x, in, 0, 0, &flags);
% endif
% if core.zero == "positive" and target.has_negative_zero
  if (bits == ${ target.sign_bit }) bits = 0;
% endif
  out->${ model.results|first }[0] = bits;
}
