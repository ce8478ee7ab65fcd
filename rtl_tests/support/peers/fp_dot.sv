module fp_dot
  import fp_pkg::*;
(
    input fp_t [3:0] a_i, b_i,
    input exact_t state_i,
    output exact_t state_o
);
  function automatic logic [18:0] term(fp_t a, fp_t b);
    logic [18:0] size;
    size = 19'(product(a, b, 6'(Least)));
    return a.sign ^ b.sign ? -size : size;
  endfunction

  logic [18:0] total;

  assign total = state_i.value + term(a_i[0], b_i[0]) + term(a_i[1], b_i[1]) + term(a_i[2], b_i[2])
      + term(a_i[3], b_i[3]);

  always_comb begin
    state_o = state_i;
    state_o.nan = state_i.nan | (state_i.pos_inf & state_i.neg_inf);
    state_o.value = total;
  end
endmodule
