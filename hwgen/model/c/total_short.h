/* Of two addends one alone can be cut. It is then far below the last bit of the other one, and the sum rounded to odd. */
static inline M_number M_total(const M_code *p, int count) { return M_aligned(p, count, 58, 1); }

