// Loads the memories of the accelerator from a.hex and b.hex, runs it, and writes the results to y.hex.
// Arguments: +beats=N +rows=N
`timescale 1ns/1ns
module bench #(parameter A = 32, B = 32, Y = 128);  // bits of a beat of each stream
  localparam BEAT = 19, ROW = 15;
  reg clk = 0, rst = 1, load = 1;
  reg [A:0] a_words [0:(1 << BEAT) - 1];
  reg [B:0] b_words [0:(1 << BEAT) - 1];
  integer beats, rows, cycles, i, file;
  wire [ROW:0] stored;
  wire [Y:0] row;
  wire overrun;
  accelerator #(.A(A), .B(B), .Y(Y), .BEAT(BEAT), .ROW(ROW)) dut (
    .clk(clk), .rst(rst), .load(load), .load_address(i[BEAT - 1:0]), .load_a(a_words[i]), .load_b(b_words[i]),
    .beats(beats[BEAT:0]), .stored(stored), .overrun(overrun), .read_address(i[ROW - 1:0]), .read_row(row)
  );

  always #1 clk = ~clk;
  initial begin
    if (!$value$plusargs("beats=%d", beats) || !$value$plusargs("rows=%d", rows)) $fatal(1, "beats and rows are missing");
    $readmemh("a.hex", a_words, 0, beats - 1);
    $readmemh("b.hex", b_words, 0, beats - 1);
    for (i = 0; i < beats; i = i + 1) @(negedge clk);
    load = 0;
    rst = 0;
    cycles = 0;
    while (stored < rows && !overrun && cycles < 8 * beats + 1000) begin
      @(negedge clk);
      cycles = cycles + 1;
    end
    file = $fopen("y.hex", "w");
    for (i = 0; i < rows; i = i + 1) begin
      @(negedge clk);
      $fdisplay(file, "%h", row);
    end
    $fclose(file);
    $display("%0d rows in %0d cycles", stored, cycles);
    $finish(0);
  end
endmodule
