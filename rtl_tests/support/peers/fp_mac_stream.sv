module fp_mac_stream
  import fp_pkg::*;
(
    input logic clk_i, rst_i,
    input logic valid_i, ready_i,
    input fp_t op_a_i, op_b_i,
    input fp16_t acc_i,
    output logic ready_o, valid_o,
    output fp16_t acc_o
);
  fp16_t sum;

  fp_mac u_mac (.op_a_i, .op_b_i, .mode_i('0), .acc_i, .acc_o(sum), .busy_o());

  assign ready_o = !valid_o || ready_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_o <= 1'b0;
    else if (ready_o) valid_o <= valid_i;
    if (ready_o) acc_o <= sum;
  end
endmodule
