// Swaps the inputs of a commutative gate: part of a renaming, see synth/area/jobs.py.
(* techmap_celltype = "$_AND_ $_NAND_ $_OR_ $_NOR_ $_XOR_ $_XNOR_" *)
module swap_inputs (A, B, Y);
  parameter _TECHMAP_CELLTYPE_ = "";
  input A, B;
  output Y;
  generate
    case (_TECHMAP_CELLTYPE_)
      "$_AND_": \$_AND_ _TECHMAP_REPLACE_ (.A(B), .B(A), .Y(Y));
      "$_NAND_": \$_NAND_ _TECHMAP_REPLACE_ (.A(B), .B(A), .Y(Y));
      "$_OR_": \$_OR_ _TECHMAP_REPLACE_ (.A(B), .B(A), .Y(Y));
      "$_NOR_": \$_NOR_ _TECHMAP_REPLACE_ (.A(B), .B(A), .Y(Y));
      "$_XOR_": \$_XOR_ _TECHMAP_REPLACE_ (.A(B), .B(A), .Y(Y));
      "$_XNOR_": \$_XNOR_ _TECHMAP_REPLACE_ (.A(B), .B(A), .Y(Y));
    endcase
  endgenerate
endmodule
