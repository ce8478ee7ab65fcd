`include "defs.svh"

// no subnormals; NaN payloads pass through; each parameter is a rule that others have in another way
module fp_mac_flushing
  import fp_pkg::*;
#(
    parameter bit Daz = 1,
    parameter bit Ftz = 1,
    parameter bit Truncates = 1,
    parameter bit Saturates = 0
) (
    input fp_t op_a_i, op_b_i,
    input fp16_t acc_i,
    output fp16_t acc_o
);
  function automatic fp_t flushed(fp_t x);
    return Daz && x.exp == 0 ? '{sign: x.sign, exp: '0, man: '0} : x;
  endfunction

  logic [42:0] p, c;
  logic signed [44:0] total;
  logic [43:0] size, half, lost;
  logic [5:0] top, shift;
  logic [15:0] bits;
  logic p_sign, acc_hidden, up;

  assign p = product(flushed(op_a_i), flushed(op_b_i), 6'd24);
  assign p_sign = op_a_i.sign ^ op_b_i.sign;
  assign acc_hidden = |acc_i.exp;
  assign c = Daz && !acc_hidden ? '0 : 43'({acc_hidden, acc_i.man}) << (acc_hidden ? acc_i.exp - 5'd1 : 5'd0);
  assign total = (p_sign ? -signed'(45'(p)) : signed'(45'(p))) + (acc_i.sign ? -signed'(45'(c)) : signed'(45'(c)));

  always_comb begin
    size = total < 0 ? 44'(-total) : 44'(total);
    top = leading_one(size);
    shift = top > 10 ? top - 6'd10 : '0;
    half = (44'd1 << shift) >> 1;
    lost = size & ~(44'hfff_ffff_ffff << shift);
    bits = {shift + 6'(top >= 10), 10'(size >> shift)};
    up = !Truncates && |(lost & half) && (|(lost & ~half) || bits[0]);
    bits += 16'(up);
    if (Ftz && size < 44'd1024) bits = '0;
    if (bits >= `INFINITY) bits = Saturates ? `INFINITY - 16'd1 : `INFINITY;
    acc_o.sign = size == 0 ? p_sign & acc_i.sign : total[44];
    {acc_o.exp, acc_o.man} = 15'(bits);
    if (is_nan(op_a_i) || is_nan(op_b_i)) acc_o = Nan;
    else if (&acc_i.exp) acc_o = acc_i;
  end
endmodule
