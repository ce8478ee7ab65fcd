// Dot products of streams: four pairs of HiFloat8 codes per beat, and the sum in binary32 after the last beat.
// Generate the processing element inside with
//   hwgen generate pe --format hif8 --lanes 4 --accumulator binary32 --stages 2 -o build/verilog
module stream_dot (
  input wire clk,
  input wire rst,
  input wire s_tvalid,
  output wire s_tready,
  input wire s_tlast,       // the last beat of a sum; the next beat begins another one
  input wire [31:0] s_a,    // lane 0 in the least significant bits
  input wire [31:0] s_b,
  output reg m_tvalid,
  input wire m_tready,
  output reg [31:0] m_sum,
  output reg m_overflow
);
  reg first;         // the next beat is the first one of its sum
  reg busy;          // a sum has ended and was not delivered yet: no second one may end
  reg [2:0] ending;  // last beats inside the processing element, whose latency is 3 cycles
  wire [31:0] acc;
  wire overflow;

  wire taken = s_tvalid & s_tready;
  assign s_tready = ~(s_tlast & busy);

  hif8_pe4_binary32_s2 pe (
    .clk(clk), .rst(rst), .clear(taken & first), .enable(taken), .a(s_a), .b(s_b), .acc(acc), .overflow(overflow)
  );

  always @(posedge clk)
    if (rst) begin
      {first, busy, m_tvalid} <= 3'b100;
      ending <= 3'b000;
    end else begin
      ending <= {ending[1:0], taken & s_tlast};
      if (taken) first <= s_tlast;
      if (taken & s_tlast) busy <= 1'b1;
      else if (m_tvalid & m_tready) busy <= 1'b0;
      if (ending[2]) begin
        m_tvalid <= 1'b1;
        m_sum <= acc;
        m_overflow <= overflow;
      end else if (m_tready) m_tvalid <= 1'b0;
    end
endmodule
