/* ${ design.header[0] }.
   ${ design.header[-1] }
   A model in C99 of the module ${ name }, of minifloat-rtl; free of conditions.
% set register, self = design.source, "M_state *s, " if design.is_clocked else ""
% if design.is_clocked
   ${ name }_reset sets the state that the reset of the module sets. Each call of ${ name } is a clock cycle:
   the outputs are those before the rising edge, and the state is that after it. Outputs are 0 where the module's are
   unknown or not valid.
% endif
*/
#ifndef ${ name }_H
#define ${ name }_H
#include <stdint.h>

% include "number.h"
% for struct, widths in (("in", model.arguments), ("out", model.results))
typedef struct {<% for field in widths %> uint64_t ${ field }[${ words(widths[field]) }];<% endfor %> } M_${ struct };
% endfor

% if register
% include "random.h"
typedef struct { uint64_t word; } M_state;

static inline void M_reset(M_state *s) { s->word = ${ "%#x" % register.random_seed }u; }

% endif
% if design.kind != "random"
% include TEMPLATES[design.kind]
% endif

% if design.is_clocked and not register
% set is_element, interleave = "clear" in names, core.interleave|default(1)
% set delay = design.stages + is_element|int
typedef struct { M_out sums[${ interleave }], coming[${ delay }]; uint8_t valid[${ delay }]; int time; } M_state;

static const M_out M_cleared = { { ${ cleared|join(" }, { ") } } };

static inline void M_reset(M_state *s) {
  for (int i = 0; i < ${ interleave }; i++) s->sums[i] = M_cleared;
  for (int i = 0; i < ${ delay }; i++) s->coming[i] = M_cleared, s->valid[i] = 0;
  s->time = 0;
}

% endif
static inline ${ kind(returned) if returned else "void" } ${ name }(${ self }${ ports|map("argument")|join(", ") }) {
  M_in in = { ${ (["{ 0 }"] * model.arguments|length)|join(", ") } };
  M_out out = { ${ (["{ 0 }"] * model.results|length)|join(", ") } };
% for port in ports if port.name in loads|map(attribute=3)
% if port.width <= 64
  const uint64_t ${ port.name }_[1] = { ${ port.name } };
% else
  uint64_t ${ port.name }_[${ words(port.width) }] = { 0 };
  for (int i = 0; i < ${ words(port.width, 32) }; i++) M_put(${ port.name }_, 32 * i, 32, ${ port.name }[i]);
% endif
% endfor
% for field, place, count, port, first in loads
  M_put(in.${ field }, ${ place }, ${ count }, M_get(${ port }_, ${ first }, ${ count }));
% endfor
% if design.kind == "random"
  in.state[0] = s->word;
% elif register
  const uint64_t after = M_words(s->word, in.random);
% endif
  ${ "M_core(&in, &out);" if register or not design.is_clocked else "out = s->coming[0];" }
% for port in outputs
% if port.name == "out_valid"
  *out_valid = s->valid[0];
% elif port.width > 64
  for (int i = 0; i < ${ words(port.width, 32) }; i++)
    ${ port.name }[i] = (uint32_t)M_get(out.${ stores[port.name] }, 32 * i, 32);
% else
  ${ "return" if returned else "*%s =" % port.name } (${ kind(port) })out.${ stores[port.name] }[0];
% endif
% endfor
% if register
  if (rst) M_reset(s);
  else if (enable) s->word = ${ "out.state_after[0]" if design.kind == "random" else "after" };
% elif design.is_clocked
<% if "rst" in names %>  if (rst) M_reset(s);
  else<% else %> <% endif %><% if "enable" in names and not is_element %> if (enable)<% endif %> {
% if is_element
    M_out before = clear ? M_cleared : s->sums[s->time], next = before;
    if (enable) {
      for (int i = 0; i < ${ words(model.arguments[model.before]) }; i++)
        in.${ model.before }[i] = before.${ model.after }[i];
      M_core(&in, &next);
% for field in model.sticky
      next.${ field }[0] |= before.${ field }[0];
% endfor
    }
    s->sums[s->time] = next, s->time = (s->time + 1) % ${ interleave };
% else
    M_out next = M_cleared;
    M_core(&in, &next);
    if (!in_valid) next = M_cleared;
% endif
    for (int i = 1; i < ${ delay }; i++) s->coming[i - 1] = s->coming[i], s->valid[i - 1] = s->valid[i];
    s->coming[${ delay - 1 }] = next, s->valid[${ delay - 1 }] = ${ 1 if is_element else "in_valid" };
  }
% endif
}

#endif
