/* The exponent of a power of two that scales a block with this largest magnitude. */
static inline int M_scale_exponent(M_number largest) {
  int exponent = largest.exp + ((largest.sig >> 40) >= M_FIRST_ROUNDED_UP) - M_TOP;
  return !largest.sig || exponent < -127 ? -127 : exponent > 127 ? 127 : exponent;
}

