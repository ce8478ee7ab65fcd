/* -- the shift register: the words of all lanes, lane 0 lowest, and its next state */

static inline uint64_t M_words(uint64_t state, uint64_t *words) {
  for (int bit = 0; bit < ${ register.random_bits * register.lanes }; bit++) {
    words[bit >> 6] |= (state & 1) << (bit & 63);
    state = state >> 1 ^ (state & 1 ? ${ "%#x" % register.lfsr.mask }u : 0);
  }
  return state;
}

% if design.kind == "random"
static inline void M_core(const M_inputs *in, M_outputs *out) {
  out->state_after[0] = M_words(in->state[0], out->random);
}

% endif
