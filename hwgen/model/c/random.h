/* -- the shift register: the words of all lanes, lane 0 lowest, and its next state */

static inline uint64_t M_words(uint64_t state, uint64_t *words) {
  for (int bit = 0; bit < M_WORD_BITS * M_WORDS; bit++) {
    words[bit >> 6] |= (state & 1) << (bit & 63);
    state = state >> 1 ^ (state & 1 ? M_POLYNOMIAL : 0);
  }
  return state;
}

