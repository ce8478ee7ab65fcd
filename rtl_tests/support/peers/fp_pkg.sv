`include "defs.svh"

package fp_pkg;
  localparam int unsigned Bias = 2 ** (`EXPONENT - 1) - 1;
  localparam int unsigned Least = 2 * (Bias + `FRACTION - 1);  // the last bit of the smallest product is 2^-Least

  typedef struct packed {
    logic sign;
    logic [`EXPONENT-1:0] exp;
    logic [`FRACTION-1:0] man;
  } fp_t;

  typedef struct packed {
    logic sign;
    logic [4:0] exp;
    logic [9:0] man;
  } fp16_t;

  typedef struct packed {
    logic nan, neg_inf, pos_inf;
    logic [`EXACT-1:0] value;
  } exact_t;

  localparam fp16_t Nan = '{sign: 1'b0, exp: '1, man: 10'h200};

  function automatic logic is_nan(fp_t x);
    return `HAS_NAN && &x.exp && &x.man;
  endfunction

  function automatic logic is_zero(fp_t x);
    return {x.exp, x.man} == '0;
  endfunction

  function automatic logic [5:0] exponent(fp_t x);
    return x.exp == 0 ? 6'd1 : 6'(x.exp);
  endfunction

  // the size of a product whose last bit is 2^-lsb
  function automatic logic [42:0] product(fp_t a, fp_t b, logic [5:0] lsb);
    logic [7:0] m;
    m = 8'({|a.exp, a.man}) * 8'({|b.exp, b.man});
    return 43'(m) << (exponent(a) + exponent(b) + lsb - 6'(2 * (Bias + `FRACTION)));
  endfunction

  function automatic logic [5:0] leading_one(logic [0:43] x);
    leading_one = '0;
    foreach (x[i]) if (x[43-i]) leading_one = 6'(i);
  endfunction
endpackage
