/* The function M_core for bit planes: row i of an array has bit i of all cases, 64 cases in a word. */
% include "module.h"
% include "dpi.c"
#include <initializer_list>
#include <stddef.h>

/* Move words of given widths of 64 cases from planes, or to them, by exchanging rows and columns of 64 by 64 bits. */
static void M_move(uint64_t *cases, size_t size, uint64_t *plane, size_t words, bool reads,
                   std::initializer_list<int> widths) {
  uint64_t block[64], mask = 0xffffffff;
  for (int width : widths)
    for (; width > 0; width -= 64, cases++) {
      for (int i = 0; i < 64; i++) block[i] = !reads ? cases[i * size] : i < width ? plane[i * words] : 0;
      for (int step = 32; step; step >>= 1, mask ^= mask << step)
        for (int i = 0; i < 64; i = ((i | step) + 1) & ~step) {
          uint64_t swap = (block[i] >> step ^ block[i | step]) & mask;
          block[i] ^= swap << step, block[i | step] ^= swap;
        }
      mask = 0xffffffff;
      for (int i = 0; i < 64; i++)
        if (reads) cases[i * size] = block[i];
        else if (i < width) plane[i * words] = block[i];
      plane += words * (width < 64 ? width : 64);
    }
}

extern "C" void planes(uint64_t *in, uint64_t *out, size_t words) {
  M_in cases[64];
  for (size_t place = 0; place < words; place++) {
    M_out results[64] = { };
    M_move((uint64_t *)cases, sizeof *cases / 8, in + place, words, true, { ${ model.arguments.values()|join(", ") } });
    for (int i = 0; i < 64; i++) M_core(&cases[i], &results[i]);
    M_move((uint64_t *)results, sizeof *results / 8, out + place, words, false,
           { ${ model.results.values()|join(", ") } });
  }
}
