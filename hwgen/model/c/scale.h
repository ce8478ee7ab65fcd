/* The exponent of a power of two that scales a block with this largest magnitude. */
static inline int M_scale_exponent(M_number largest) {
% set first, top = first_rounded_up(core.policy, core.fmt, 23, core.top), element_exponent(core.fmt, core.top)
  int exponent = largest.exp + ((largest.sig >> 40) >= ${ first }) - ${ top };
  return !largest.sig || exponent < -127 ? -127 : exponent > 127 ? 127 : exponent;
}

