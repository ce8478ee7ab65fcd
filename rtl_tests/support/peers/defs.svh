`ifndef EXPONENT
`define EXPONENT 4
`define FRACTION 3
`define HAS_NAN 1
`endif
`define INFINITY 16'h7c00
