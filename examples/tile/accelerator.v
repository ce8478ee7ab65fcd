// A matrix unit between memories: it reads the beats of both operands, and writes the rows of the results.
// Generate the tile inside with --name matrix_unit, and set A, B and Y:
//   hwgen generate tile --format ocp_e4m3 --rows 4 --columns 4 --accumulator exact --to binary32 --stages 3
//     --readout-stages 4 --name matrix_unit
module accelerator #(
  parameter A = 32, B = 32, Y = 128,  // bits of a beat of each stream, as in the tile's ports
  parameter BEAT = 10,                // bits of an address in the operands' memories
  parameter ROW = 8                   // bits of an address in the results' memory
) (
  input wire clk,
  input wire rst,  // starts again with the first beat; the memories keep their words

  input wire load,  // write a word of each operand: a bit that marks the last beat of a product, and the beat's data
  input wire [BEAT - 1:0] load_address,
  input wire [A:0] load_a,
  input wire [B:0] load_b,

  input wire [BEAT:0] beats,  // how many beats to send
  output wire [ROW:0] stored, // how many rows are in the results' memory
  output wire overrun,        // a row came that the memory has no place for

  input wire [ROW - 1:0] read_address,
  output reg [Y:0] read_row  // the row at read_address in the cycle before; its highest bit marks a product's last row
);
  reg [A:0] a_memory [0:(1 << BEAT) - 1];
  reg [B:0] b_memory [0:(1 << BEAT) - 1];
  reg [Y:0] y_memory [0:(1 << ROW) - 1];

  // The words that the streams offer, and the addresses of the next ones
  reg [BEAT:0] a_next, b_next;
  reg [ROW:0] y_next;
  reg [A:0] a;
  reg [B:0] b;
  reg a_valid, b_valid;
  wire a_ready, b_ready, y_valid, y_last;
  wire a_moves = ~a_valid | a_ready;
  wire b_moves = ~b_valid | b_ready;
  wire a_is = a_next < beats;
  wire b_is = b_next < beats;
  wire [Y - 1:0] y;
  wire y_ready = ~y_next[ROW];
  assign stored = y_next;
  assign overrun = y_valid & ~y_ready;

  always @(posedge clk) begin
    if (load) a_memory[load_address] <= load_a;
    if (load) b_memory[load_address] <= load_b;
    if (y_valid & y_ready) y_memory[y_next[ROW - 1:0]] <= {y_last, y};
    read_row <= y_memory[read_address];
  end

  always @(posedge clk) begin
    if (a_moves) a <= a_memory[a_next[BEAT - 1:0]];
    if (b_moves) b <= b_memory[b_next[BEAT - 1:0]];
    if (a_moves) a_valid <= a_is;
    if (b_moves) b_valid <= b_is;
    if (a_moves & a_is) a_next <= a_next + 1'b1;
    if (b_moves & b_is) b_next <= b_next + 1'b1;
    if (y_valid & y_ready) y_next <= y_next + 1'b1;
    if (rst) begin
      a_valid <= 1'b0;
      b_valid <= 1'b0;
      a_next <= 0;
      b_next <= 0;
      y_next <= 0;
    end
  end

  matrix_unit tile (
    .clk(clk), .rst(rst),
    .a_tvalid(a_valid), .a_tready(a_ready), .a_tdata(a[A - 1:0]), .a_tlast(a[A]),
    .b_tvalid(b_valid), .b_tready(b_ready), .b_tdata(b[B - 1:0]), .b_tlast(b[B]),
    .y_tvalid(y_valid), .y_tready(y_ready), .y_tdata(y), .y_tlast(y_last)
  );
endmodule
