module fp_mac_pipe
  import fp_pkg::*;
(
    input logic clk_i, rst_ni, valid_i,
    input fp_t op_a_i, op_b_i,
    input fp16_t acc_i,
    output logic valid_o,
    output fp16_t acc_o
);
  typedef struct packed {
    logic valid;
    fp_t a, b;
    fp16_t acc;
  } stage_t;

  stage_t first;
  fp16_t sum;

  fp_mac u_mac (.op_a_i(first.a), .op_b_i(first.b), .mode_i('0), .acc_i(first.acc), .acc_o(sum), .busy_o());

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first <= '0;
      valid_o <= 1'b0;
      acc_o <= '0;
    end else begin
      first <= '{valid: valid_i, a: op_a_i, b: op_b_i, acc: acc_i};
      valid_o <= first.valid;
      acc_o <= sum;
    end
  end
endmodule
