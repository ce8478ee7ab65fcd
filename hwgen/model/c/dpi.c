/* The functions that ${ name }_dpi.sv imports, in C99 or C++. */
#include "${ name }.h"
#include <stdlib.h>
% set state = "M_state *s, " if design.is_clocked else ""

#ifdef __cplusplus
extern "C" {
#endif
% if design.is_clocked
void *${ name }_new(void) {
  M_state *s = (M_state *)malloc(sizeof *s);
  if (s) M_reset(s);
  return s;
}

% endif
${ kind(returned) if returned else "void" } ${ name }_dpi(${ state }${ ports|map("argument")|join(", ") }) {
  ${ "return " if returned }${ name }(${ "s, " if state }${ ports|map(attribute="name")|join(", ") });
}
#ifdef __cplusplus
}
#endif
