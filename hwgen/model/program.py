"""The test ``model/NAME_test.c``: the model against the vectors of the module's testbench."""

from __future__ import annotations

from hwgen.blocks.block import Design
from hwgen.bundle.testbench import columns
from hwgen.model.header import ports, result, words
from hwgen.reference.trace import CARE

_MAIN = """\
/* Compares the model of NAME with vectors: cc -O2 -o test model/NAME_test.c && ./test, in the bundle's folder. The
   argument is a file of vectors, by default tb/NAME.hex. The output is PASS n vectors, or the first mismatches. */
#include "NAME.h"
#include <stdio.h>
#include <string.h>

enum { WIDTH = BITS, WORDS = WIDTH / 64 + 1 };

/* Read the next word; return 0 at the end of the file. */
static int next_word(FILE *file, uint64_t *word) {
  static char line[LENGTH];
  do {
    if (!fgets(line, sizeof line, file)) return 0;
  } while (line[0] == '/' || line[0] == '\\n');
  size_t length = strcspn(line, "\\r\\n");
  memset(word, 0, WORDS * sizeof *word);
  for (size_t i = 0; i < length && i < 16 * (size_t)WORDS; i++) {
    char c = line[length - 1 - i];
    word[i / 16] |= (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10) << i % 16 * 4;
  }
  return 1;
}

int main(int argc, char **argv) {
  FILE *file = fopen(argc > 1 ? argv[1] : "tb/NAME.hex", "r");
  uint64_t word[WORDS];
  long count = 0, failed = 0;
  if (!file) {
    perror("vectors");
    return 2;
  }
DECLARED
  for (; next_word(file, word); count++) {
    int wrong = !NAME_get(word, WIDTH, 1);
BODY
    if (wrong && failed++ < 10) printf("vector %ld differs\\n", count);
  }
  fclose(file);
  if (failed || !count) printf("FAIL %ld of %ld\\n", failed, count);
  else printf("PASS %ld vectors\\n", count);
  return failed || !count;
}
"""


def program(design: Design) -> str:
    """The text of the test."""
    name, returned, place = design.name, result(design), 0
    places: dict[str, int] = {}
    for port in reversed(columns(design.ports)):
        places[port.name] = place
        place += port.width
    declared, body, arguments, checks = [], [], ["&state"] if design.is_clocked else [], []
    for port in ports(design):
        kind = f"uint{next(bits for bits in (8, 16, 32, 64) if port.width <= bits or bits == 64)}_t"
        is_wide, count = port.width > 64, words(port.width)
        pieces = [(word, places[port.name] + 64 * word, min(64, port.width - 64 * word)) for word in range(count)]
        values = [f"{name}_get(word, {first}, {bits})" for _, first, bits in pieces]
        declared.append(f"  {kind} {port.name}{f'[{count}]' if is_wide else ''};")
        names = [f"{port.name}[{word}]" if is_wide else port.name for word, _, _ in pieces]
        if port.direction == "input":
            body += [f"{target} = ({kind}){value};" for target, value in zip(names, values, strict=True)]
        else:
            cared = f"{name}_get(word, {places[CARE + port.name]}, 1) && " if CARE + port.name in places else ""
            differs = " || ".join(f"{target} != {value}" for target, value in zip(names, values, strict=True))
            checks.append(f"wrong |= {cared}({differs});")
        if port is not returned:
            arguments.append(("&" if port.direction == "output" and not is_wide else "") + port.name)
    if design.is_clocked:
        declared += [f"  {name}_state state;", f"  {name}_reset(&state);"]
    call = f"{f'{returned.name} = ' if returned else ''}{name}({', '.join(arguments)});"
    lines = "\n".join(f"    {line}" for line in [*body, call, *checks])
    text = _MAIN.replace("BODY", lines).replace("DECLARED", "\n".join(declared)).replace("NAME", name)
    return text.replace("BITS", str(place)).replace("LENGTH", str(place // 4 + 256))
