// Reads codes of two matrices and a scale, multiplies with a processing element, restores, and writes binary32.
module restore;
  reg clk = 1'b0, rst = 1'b1, clear = 1'b0, enable = 1'b0;
  reg [7:0] a, b, x[0:127], w[0:15];  // 8 rows of 16 codes, and a column
  reg [5:0] scale[0:0];
  wire [82:0] acc;
  wire [31:0] bits;
  integer row, k, file;

  hif8_pe_exact_n16 pe (.clk(clk), .rst(rst), .clear(clear), .enable(enable), .a(a), .b(b), .acc(acc), .overflow());
  hif8_readout_binary32_n16_result_scale6 readout (.acc(acc), .scale(scale[0]), .bits(bits));

  always #5 clk = ~clk;

  initial begin
    $readmemh("x.hex", x);
    $readmemh("w.hex", w);
    $readmemh("scale.hex", scale);
    file = $fopen("y.hex", "w");
    @(negedge clk) rst = 1'b0;
    for (row = 0; row < 8; row = row + 1) begin
      for (k = 0; k < 16; k = k + 1) begin
        {clear, enable, a, b} = {k == 0, 1'b1, x[16 * row + k], w[k]};
        @(negedge clk);
      end
      $fdisplay(file, "%h", bits);
    end
    $fclose(file);
    $finish;
  end
endmodule
