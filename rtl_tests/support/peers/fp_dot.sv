`include "defs.svh"

module fp_dot
  import fp_pkg::*;
(
    input fp_t [3:0] a_i, b_i,
    input exact_t state_i,
    output exact_t state_o
);
  function automatic logic [`EXACT-1:0] term(fp_t a, fp_t b);
    logic [`EXACT-1:0] size;
    size = is_nan(a) || is_nan(b) ? '0 : `EXACT'(product(a, b, 6'(Least)));
    return a.sign ^ b.sign ? -size : size;
  endfunction

  logic [`EXACT-1:0] total;
  logic any_nan;

  assign total = state_i.value + term(a_i[0], b_i[0]) + term(a_i[1], b_i[1]) + term(a_i[2], b_i[2])
      + term(a_i[3], b_i[3]);

  always_comb begin
    any_nan = state_i.nan | (state_i.pos_inf & state_i.neg_inf);
    for (int lane = 0; lane < 4; lane++) any_nan |= is_nan(a_i[lane]) | is_nan(b_i[lane]);
    state_o = state_i;
    state_o.nan = any_nan;
    state_o.value = total;
  end
endmodule
