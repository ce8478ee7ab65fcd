/* The functions that ${ name }_dpi.sv imports, in C99 or C++. */
#include "${ name }.h"
#include <stddef.h>
% set state = "M_state *M_self, " if design.is_clocked else ""

#ifdef __cplusplus
extern "C" {
#endif
% if design.is_clocked
/* of stdlib.h, whose other names a module may have */
void *malloc(size_t size);

void *${ name }_new(void) {
  M_state *s = (M_state *)malloc(sizeof *s);
  if (s) M_reset(s);
  return s;
}

% endif
${ kind(returned) if returned else "void" } ${ name }_dpi(${ state }${ ports|map("argument")|join(", ") }) {
  ${ "return " if returned }${ name }(${ "M_self, " if state }${ ports|map(attribute="name")|join(", ") });
}
#ifdef __cplusplus
}
#endif
