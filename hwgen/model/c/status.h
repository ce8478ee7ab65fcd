  (void)flags;
% if "flags" in names
  out->flags[0] = (uint64_t)flags;
% endif
% if "overflow" in names
  out->overflow[0] = (flags & M_OVERFLOW) != 0;
% endif
