`include "defs.svh"

module fp_round
  import fp_pkg::*;
(
    input logic signed [44:0] total,
    input logic zero_sign, subtracts,
    output fp16_t result
);
  logic [43:0] size, half, lost;
  logic [5:0] top, shift;
  logic [15:0] bits;
  logic guard, sticky, unused;

  assign unused = subtracts;

  always_comb begin
    size = total < 0 ? 44'(-total) : 44'(total);
    top = leading_one(size);
    shift = top > 10 ? top - 6'd10 : '0;
    half = (44'd1 << shift) >> 1;
    lost = size & ~(44'hfff_ffff_ffff << shift);
    guard = |(lost & half);
    sticky = |(lost & ~half);
    bits = {shift + 6'(top >= 10), 10'(size >> shift)};
    bits += 16'(guard & (sticky | bits[0]));
    result.sign = size == 0 ? zero_sign : total[44];
    {result.exp, result.man} = bits > `INFINITY ? 15'(`INFINITY) : 15'(bits);
  end
endmodule

module fp_mac
  import fp_pkg::*;
#(
    parameter int unsigned Mode = 0
) (
    input fp_t op_a_i, op_b_i,
    input logic [1:0] mode_i,
    input fp16_t acc_i,
    output fp16_t acc_o,
    output logic busy_o
);
  logic [42:0] p, c;
  logic signed [44:0] total;
  logic p_sign;
  fp16_t rounded;

  assign p = product(op_a_i, op_b_i, 6'd24);
  assign p_sign = op_a_i.sign ^ op_b_i.sign;
  assign c = 43'({|acc_i.exp, acc_i.man}) << (acc_i.exp == 0 ? 5'd0 : acc_i.exp - 5'd1);
  assign total = (p_sign ? -signed'(45'(p)) : signed'(45'(p))) + (acc_i.sign ? -signed'(45'(c)) : signed'(45'(c)));
  assign busy_o = 1'b0;

  fp_round u_round (
      .total,
      .zero_sign(p_sign & acc_i.sign),
      .subtracts(p_sign ^ acc_i.sign),
      .result(rounded)
  );

  always_comb begin
    acc_o = rounded;
    unique case (mode_i)
      2'(Mode): begin
        if (is_nan(op_a_i) || is_nan(op_b_i) || (&acc_i.exp && acc_i.man != 0)) acc_o = Nan;
        else if (&acc_i.exp) acc_o = acc_i;
      end
      default: acc_o = '0;
    endcase
  end
endmodule
