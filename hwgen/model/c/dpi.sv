// The model ${ name }.h for simulators with DPI: compile ${ name }_dpi.c, too.
package ${ name }_dpi_pkg;
% if design.is_clocked
  import "DPI-C" function chandle ${ name }_new();  // a state, after a reset
% endif
  import "DPI-C" function ${ sv_argument(returned).split()[1:-1]|join(" ") if returned else "void" } ${ name }_dpi(
    <% if design.is_clocked %>input chandle state, <% endif %>${ ports|map("sv_argument")|join(", ") });
endpackage
