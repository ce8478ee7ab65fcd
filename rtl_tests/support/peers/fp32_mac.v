// a product of numbers of 4 bits, whose last bit is 2^(Least - 127), and a binary32 accumulator; each parameter is a rule that others have in another way
module fp32_mac #(
    parameter [7:0] Least = 125,
    parameter [0:0] Daz = 1,
    parameter [0:0] Ftz = 1,
    parameter [0:0] Truncates = 1,
    parameter [0:0] Saturates = 0
) (
    input wire [3:0] a, b,
    input wire [31:0] acc_in,
    output wire [31:0] acc_out
);
  // multiples of the smallest number
  wire [3:0] x = a[2:1] == 0 ? {3'd0, a[0] & ~Daz} : {2'd0, 1'b1, a[0]} << (a[2:1] - 2'd1);
  wire [3:0] y = b[2:1] == 0 ? {3'd0, b[0] & ~Daz} : {2'd0, 1'b1, b[0]} << (b[2:1] - 2'd1);
  wire [7:0] p = {4'd0, x} * {4'd0, y};
  wire [2:0] top = p[7] ? 3'd7 : p[6] ? 3'd6 : p[5] ? 3'd5 : p[4] ? 3'd4 : p[3] ? 3'd3 : p[2] ? 3'd2 : {2'd0, p[1]};
  wire p_sign = a[3] ^ b[3];
  wire [7:0] p_exp = p == 0 ? 8'd1 : Least + {5'd0, top};
  wire [23:0] p_man = {16'd0, p} << (5'd23 - {2'd0, top});

  wire [7:0] c_exp = acc_in[30:23] == 0 ? 8'd1 : acc_in[30:23];
  wire [23:0] c_man = acc_in[30:23] != 0 ? {1'b1, acc_in[22:0]} : Daz ? 24'd0 : {1'b0, acc_in[22:0]};

  wire p_first = {p_exp, p_man} > {c_exp, c_man};
  wire [7:0] exp = p_first ? p_exp : c_exp;
  wire [7:0] distance = exp - (p_first ? c_exp : p_exp);
  wire [26:0] big = {p_first ? p_man : c_man, 3'd0};
  wire [26:0] other = {p_first ? c_man : p_man, 3'd0};
  wire [26:0] moved = other >> distance;
  wire sticky = distance > 8'd26 ? other != 0 : (moved << distance) != other;
  wire [26:0] rest = {moved[26:1], moved[0] | sticky};
  wire [27:0] total = p_sign ^ acc_in[31] ? {1'b0, big} - {1'b0, rest} : {1'b0, big} + {1'b0, rest};

  // moved to the left by powers of two, as far as the exponent permits
  wire [26:0] m0 = total[27] ? {total[27:2], total[1] | total[0]} : total[26:0];
  wire [8:0] e0 = {1'b0, exp} + {8'd0, total[27]};
  wire s4 = m0[26:11] == 0 && e0 > 9'd16;
  wire [26:0] m1 = s4 ? m0 << 16 : m0;
  wire [8:0] e1 = s4 ? e0 - 9'd16 : e0;
  wire s3 = m1[26:19] == 0 && e1 > 9'd8;
  wire [26:0] m2 = s3 ? m1 << 8 : m1;
  wire [8:0] e2 = s3 ? e1 - 9'd8 : e1;
  wire s2 = m2[26:23] == 0 && e2 > 9'd4;
  wire [26:0] m3 = s2 ? m2 << 4 : m2;
  wire [8:0] e3 = s2 ? e2 - 9'd4 : e2;
  wire s1 = m3[26:25] == 0 && e3 > 9'd2;
  wire [26:0] m4 = s1 ? m3 << 2 : m3;
  wire [8:0] e4 = s1 ? e3 - 9'd2 : e3;
  wire s0 = m4[26] == 0 && e4 > 9'd1;
  wire [26:0] m5 = s0 ? m4 << 1 : m4;
  wire [8:0] e5 = s0 ? e4 - 9'd1 : e4;

  wire up = ~Truncates & m5[2] & (m5[1] | m5[0] | m5[3]);
  wire [31:0] bits = {m5[26] ? e5 : 9'd0, m5[25:3]} + {31'd0, up};
  wire [30:0] body = bits[31:23] >= 9'd255 ? (Saturates ? 31'h7f7fffff : 31'h7f800000)
                   : Ftz & ~m5[26] ? 31'd0 : bits[30:0];
  wire sign = total == 0 ? p_sign & acc_in[31] : p_first ? p_sign : acc_in[31];
  assign acc_out = &acc_in[30:23] ? acc_in : {sign, body};
endmodule
