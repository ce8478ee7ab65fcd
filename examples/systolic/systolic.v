// A 2x2 systolic array: c = a b, for matrices a (2 x K) and b (K x 2). In the K cycles with enable, column k of a and
// row k of b enter. Codes of a move to the right, those of b move down, and the controls move along with them.
// c holds the sums one cycle after the last product of the last element: four cycles after the last enable.
module systolic (
  input wire clk,
  input wire rst,
  input wire clear,                    // with the first column of a: begin new sums
  input wire enable,
  input wire [15:0] a,                 // column k of a, element 0 in the low bits
  input wire [15:0] b,                 // row k of b, element 0 in the low bits
  output wire [63:0] c,                // binary16: c00, c01, c10, c11 from the low bits up
  output wire overflow
);
  reg [7:0] a1_late, b1_late;          // the second row and the second column begin one cycle later
  reg [7:0] a0_right, a1_right;        // what the left elements hand on
  reg [7:0] b0_down, b1_down;          // what the upper elements hand on
  reg [1:0] clear_late, enable_late;   // the controls, by one and by two cycles
  wire [3:0] overflows;

  always @(posedge clk) begin
    a1_late <= a[15:8];
    b1_late <= b[15:8];
    a0_right <= a[7:0];
    a1_right <= a1_late;
    b0_down <= b[7:0];
    b1_down <= b1_late;
    clear_late <= rst ? 2'b00 : {clear_late[0], clear};
    enable_late <= rst ? 2'b00 : {enable_late[0], enable};
  end

  ocp_e4m3_pe_binary16 pe_00 (
    .clk(clk), .rst(rst), .clear(clear), .enable(enable), .a(a[7:0]), .b(b[7:0]),
    .acc(c[15:0]), .overflow(overflows[0])
  );
  ocp_e4m3_pe_binary16 pe_01 (
    .clk(clk), .rst(rst), .clear(clear_late[0]), .enable(enable_late[0]), .a(a0_right), .b(b1_late),
    .acc(c[31:16]), .overflow(overflows[1])
  );
  ocp_e4m3_pe_binary16 pe_10 (
    .clk(clk), .rst(rst), .clear(clear_late[0]), .enable(enable_late[0]), .a(a1_late), .b(b0_down),
    .acc(c[47:32]), .overflow(overflows[2])
  );
  ocp_e4m3_pe_binary16 pe_11 (
    .clk(clk), .rst(rst), .clear(clear_late[1]), .enable(enable_late[1]), .a(a1_right), .b(b1_down),
    .acc(c[63:48]), .overflow(overflows[3])
  );
  assign overflow = |overflows;
endmodule
