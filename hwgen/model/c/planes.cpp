/* The function M_core for bit planes: row i of an array has bit i of all cases, 64 cases in a word. */
% include "module.h"
#include <stddef.h>

enum { M_INS = ${ words(model.arguments.values()|sum) }, M_OUTS = ${ words(model.results.values()|sum) } };

/* Exchange rows and columns of 64 by 64 bits. */
static void M_exchange(uint64_t *block) {
  uint64_t mask = 0xffffffff;
  for (int size = 32; size; size >>= 1, mask ^= mask << size)
    for (int first = 0; first < 64; first += 2 * size)
      for (int i = first; i < first + size; i++) {
        uint64_t swap = (block[i] >> size ^ block[i + size]) & mask;
        block[i] ^= swap << size, block[i + size] ^= swap;
      }
}

/* The number of words is a multiple of 8, which are a line of the cache. */
extern "C" void planes(const uint64_t *in, uint64_t *out, size_t words) {
  uint64_t cases[M_INS][512], results[M_OUTS][512];
  for (size_t first = 0; first < words; first += 8) {
    for (int i = 0; i < 64 * M_INS; i++)
      for (int j = 0; j < 8; j++)
        cases[i / 64][64 * j + i % 64] = i < ${ model.arguments.values()|sum } ? in[i * words + first + j] : 0;
    for (int i = 0; i < 8 * M_INS; i++) M_exchange(cases[0] + 64 * i);
    for (int i = 0; i < 512; i++) {
      uint64_t word[M_INS], result[M_OUTS] = { };
      M_inputs x;
      M_outputs y = { };
      for (int j = 0; j < M_INS; j++) word[j] = cases[j][i];
% for field, index, place, count in pieces(model.arguments)
      x.${ field }[${ index }] = M_get(word, ${ place }, ${ count });
% endfor
      M_core(&x, &y);
% for field, index, place, count in pieces(model.results)
      M_put(result, ${ place }, ${ count }, y.${ field }[${ index }]);
% endfor
      for (int j = 0; j < M_OUTS; j++) results[j][i] = result[j];
    }
    for (int i = 0; i < 8 * M_OUTS; i++) M_exchange(results[0] + 64 * i);
    for (int i = 0; i < ${ model.results.values()|sum }; i++)
      for (int j = 0; j < 8; j++) out[i * words + first + j] = results[i / 64][64 * j + i % 64];
  }
}
