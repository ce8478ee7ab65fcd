`ifndef EXPONENT
`define EXPONENT 4
`define FRACTION 3
`define HAS_NAN 1
`define EXACT 47  // bits of the value of an exact sum of 1024 products
`endif
`define INFINITY 16'h7c00
