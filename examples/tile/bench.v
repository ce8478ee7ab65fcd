// Loads the memories of the accelerator, runs it, and writes the results: +beats=N +rows=N, a.hex, b.hex and y.hex.
`timescale 1ns/1ns
module bench;
  reg clk = 0, rst = 1;
  reg [31:0] beats, rows;
  integer cycles;
  wire [31:0] stored;
  wire overrun;
  accelerator #(.BEATS(65536), .RESULTS(16384)) dut (
    .clk(clk), .rst(rst), .beats(beats), .stored(stored), .overrun(overrun)
  );

  always #1 clk = ~clk;
  initial begin
    if (!$value$plusargs("beats=%d", beats) || !$value$plusargs("rows=%d", rows)) $fatal(1, "beats and rows are missing");
    $readmemh("a.hex", dut.a_memory, 0, beats - 1);
    $readmemh("b.hex", dut.b_memory, 0, beats - 1);
    cycles = 0;
    repeat (2) @(negedge clk);
    rst = 0;
    while (stored < rows && !overrun && cycles < 8 * beats + 1000) begin
      @(negedge clk);
      cycles = cycles + 1;
    end
    $writememh("y.hex", dut.y_memory, 0, rows - 1);
    $display("%0d rows in %0d cycles", stored, cycles);
    $finish(0);
  end
endmodule
