static inline M_number M_total(const M_code *p, int count) {
  M_fixed total = { { 0 } };
  for (int i = 0; i < count; i++) M_add(&total, p[i].n, p[i].e - M_LSB, p[i].sign);
  return M_value(total);
}

