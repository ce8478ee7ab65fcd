// A dot product over time: one product of HiFloat8 codes per clock into a binary16 accumulator.
// The output code is the sum as a HiFloat8 code. Generate the two modules inside with
//   hwgen generate mac --format hif8 -o build/verilog
//   hwgen generate encoder --format hif8 --from binary16 -o build/verilog
module dot_product (
  input wire clk,
  input wire clear,   // with enable: start a new sum with the product of this clock
  input wire enable,
  input wire [7:0] a,
  input wire [7:0] b,
  output reg [15:0] sum,
  output wire [7:0] code
);
  wire [15:0] next;

  hif8_mac_binary16 mac (.a(a), .b(b), .acc_in(clear ? 16'h0000 : sum), .acc_out(next));
  hif8_encoder_binary16_ties_to_away encoder (.bits(sum), .code(code));

  always @(posedge clk)
    if (enable) sum <= next;
endmodule
