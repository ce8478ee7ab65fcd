// A matrix unit between memories: it reads the beats of both operands, and writes the rows of the results.
// Generate the tile inside with
//   hwgen generate tile --format ocp_e4m3 --rows 4 --columns 4 --accumulator exact --to binary32 -o build/verilog
module accelerator #(
  parameter BEATS = 1024,  // words of the operands' memories: a bit that marks the last beat of a product, and its data
  parameter RESULTS = 256  // words of the results' memory: rows
) (
  input wire clk,
  input wire rst,
  input wire [31:0] beats,    // how many beats to send
  output wire [31:0] stored,  // how many rows have been stored
  output wire overrun         // a row came that the memory has no place for
);
  localparam A = 32, B = 32, Y = 128;  // bits of a beat of each stream, as in the tile's ports

  reg [A:0] a_memory [0:BEATS - 1];
  reg [B:0] b_memory [0:BEATS - 1];
  reg [Y:0] y_memory [0:RESULTS - 1];
  reg [31:0] a_next, b_next, y_next;

  wire a_ready, b_ready, y_valid, y_last;
  wire [Y - 1:0] y;
  wire a_valid = a_next < beats;
  wire b_valid = b_next < beats;
  wire [A:0] a = a_memory[a_next];
  wire [B:0] b = b_memory[b_next];
  wire y_ready = y_next < RESULTS;

  ocp_e4m3_tile_4x4_exact_binary32 tile (
    .clk(clk), .rst(rst),
    .a_tvalid(a_valid), .a_tready(a_ready), .a_tdata(a[A - 1:0]), .a_tlast(a[A]),
    .b_tvalid(b_valid), .b_tready(b_ready), .b_tdata(b[B - 1:0]), .b_tlast(b[B]),
    .y_tvalid(y_valid), .y_tready(y_ready), .y_tdata(y), .y_tlast(y_last)
  );

  assign stored = y_next;
  assign overrun = y_valid & ~y_ready;
  always @(posedge clk) begin
    if (a_valid & a_ready) a_next <= a_next + 1;
    if (b_valid & b_ready) b_next <= b_next + 1;
    if (y_valid & y_ready) begin
      y_memory[y_next] <= {y_last, y};
      y_next <= y_next + 1;
    end
    if (rst) begin
      a_next <= 0;
      b_next <= 0;
      y_next <= 0;
    end
  end
endmodule
