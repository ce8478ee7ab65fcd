/* The functions that ${ name }_dpi.sv imports, in C99 or C++. */
#include "${ name }.h"
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif
% if design.is_clocked
void *${ name }_new(void) {
  ${ name }_state *state = (${ name }_state *)malloc(sizeof *state);
  if (state) ${ name }_reset(state);
  return state;
}

% endif
${ kind(returned) if returned else "void" } ${ name }_dpi(<% if design.is_clocked %>void *state, <% endif %>
    <%- for port in ports %>${ argument(port, 32) }${ ", " if not loop.last }<% endfor %>) {
% for port in ports if port.width > 64
  uint64_t ${ port.name }_words[${ words(port.width) }] = { 0 };
% if port.direction == "input"
  for (int i = 0; i < ${ (port.width + 31) // 32 }; i++) ${ port.name }_words[i / 2] |= (uint64_t)${ port.name }[i] << i % 2 * 32;
% endif
% endfor
  <% if returned %>return <% endif %>${ name }(<% if design.is_clocked %>(${ name }_state *)state, <% endif %>
    <%- for port in ports %>${ port.name }${ "_words" if port.width > 64 }${ ", " if not loop.last }<% endfor %>);
% for port in ports if port.width > 64 and port.direction == "output"
  for (int i = 0; i < ${ (port.width + 31) // 32 }; i++) ${ port.name }[i] = (uint32_t)(${ port.name }_words[i / 2] >> i % 2 * 32);
% endfor
}
#ifdef __cplusplus
}
#endif
