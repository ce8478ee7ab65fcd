`define INFINITY 16'h7c00
