${ decoding("code", core.fmt) }
static inline void M_core(const M_inputs *in, M_outputs *out) {
  M_code x = M_decode_code((uint32_t)in->code[0]);
  M_number y = M_number_of(x);
% if core.target == "unpacked"
  int is_number = x.kind == M_FINITE && x.n;
  out->sign[0] = x.sign;
  out->exponent[0] = is_number ? (uint64_t)(int64_t)y.exp & ${ 2 ** (core.exponent|length) - 1 } : 0;
  out->significand[0] = is_number ? y.sig >> ${ 64 - core.fmt.precision } : 0;
  out->is_zero[0] = x.kind == M_FINITE && !x.n, out->is_inf[0] = x.kind == M_INF, out->is_nan[0] = x.kind == M_NAN;
% else
% set target = wide(core.target)
  const M_format target = ${ wide_format(target) };
  out->bits[0] = M_pack(y, target, M_${ target.roundings[0].name }, ${ target.fraction_bits });
% endif
}
