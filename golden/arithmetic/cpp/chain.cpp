// Chains of fused multiply-accumulates, many sums at a time: the compiled backend of golden/arithmetic/chain.py.
//
// Products of codes are exact in binary64. Nothing is rounded but by rounded(), truncated() and odd(). Compile without
// contraction of expressions and without reordering.

#include "fixed.h"
#include "formats.h"

#include <atomic>
#include <new>
#include <thread>
#include <vector>

namespace {

constexpr int VECTORS = COLUMNS / WIDTH;
constexpr int TOGETHER = VECTORS < 4 ? VECTORS : 4;  // vectors of sums that stay in registers
constexpr int ROWS = 32;                             // of a tile

// A thread's part of the work: tiles of sums.
struct Worker {
  const Job &job;
  const Target target;
  const int64_t parts;
  std::vector<V> memory;
  V *state, *sums, *signs, *specials, *factors;  // in [row][vector]; sums in [row][part][vector]
  Panel a, b;
  int64_t first_row = 0, first_column = 0, columns = 0;
  int vectors = 0;  // that have columns of the tile
  std::vector<uint64_t> fixed;

  explicit Worker(const Job &j)
      : job(j), target(j), parts(j.cuts + 1), fixed(j.limbs) {
    const int64_t tile = ROWS * VECTORS, panel = DEPTH * VECTORS;
    memory.resize((3 + parts) * tile + VECTORS + 4 * panel);
    state = memory.data();
    signs = state + tile, specials = signs + tile, sums = specials + tile, factors = sums + parts * tile;
    a.values = (double *)(factors + VECTORS), a.exponents = a.values + DEPTH * COLUMNS;
    b.values = a.exponents + DEPTH * COLUMNS, b.exponents = b.values + DEPTH * COLUMNS;
    a.wide = j.a.column != 0, b.wide = true;
  }

  void tile(int64_t row, int64_t column) {
    first_row = row, first_column = column;
    columns = job.columns - column < COLUMNS ? job.columns - column : COLUMNS;
    vectors = (columns + WIDTH * TOGETHER - 1) / (WIDTH * TOGETHER) * TOGETHER;
    const int64_t rows = job.rows - row < ROWS ? job.rows - row : ROWS;
    // groups of products stay together in a panel if they must
    const int64_t depth = job.kind >= ALIGNED || job.lanes < DEPTH ? DEPTH / job.lanes * job.lanes : DEPTH;
    if (job.kind != EXACT) job.bits == 16 ? load<uint16_t, H16>(rows) : load<uint32_t, H32>(rows);
    for (int64_t k = 0; k < job.depth; k += depth) {
      const int64_t count = job.depth - k < depth ? job.depth - k : depth;
      if (!job.a.row) a.fill(job.a, 0, column, columns, k, count);
      if (!job.b.row) b.fill(job.b, 0, column, columns, k, count);
      for (int64_t i = 0; i < rows; i++) {
        if (job.a.row) a.fill(job.a, row + i, column, columns, k, count);
        if (job.b.row) b.fill(job.b, row + i, column, columns, k, count);
        if (job.kind == ALIGNED) aligned(i, k, count);
        else if (job.kind == BULK) bulk(i, k, count);
        else if (job.kind == EXACT || job.lanes > 1) groups(i, k, count);
        else if (job.kind == DLFLOAT16) chain_of<DLFLOAT16>(i, k, count);
        else chain_of<IEEE>(i, k, count);
      }
    }
    if (job.kind != EXACT && job.depth) job.bits == 16 ? store<uint16_t, H16>(rows) : store<uint32_t, H32>(rows);
  }

  // Accumulators of a tile, from bits and to bits of type C; V has as many numbers as H has of them.
  template <class C, class H> void load(int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
      C codes[COLUMNS] = {};
      memcpy(codes, (C *)job.sums + (first_row + i) * job.columns + first_column, columns * sizeof(C));
      for (int v = 0; v < VECTORS; v++) {
        H some;
        memcpy(&some, codes + v * WIDTH, sizeof some);
        state[i * VECTORS + v] = target.value(__builtin_convertvector(some, W));
      }
    }
  }

  template <class C, class H> void store(int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
      C codes[COLUMNS];
      for (int v = 0; v < VECTORS; v++) {
        const H some = __builtin_convertvector(target.code(state[i * VECTORS + v]), H);
        memcpy(codes + v * WIDTH, &some, sizeof some);
      }
      memcpy((C *)job.sums + (first_row + i) * job.columns + first_column, codes, columns * sizeof(C));
    }
  }

  // What the products from k on are multiplied by, for all columns of a row.
  void scale(int64_t row, int64_t k) {
    const int64_t block = k / job.block;
    double *factor = (double *)factors;
    for (int64_t j = 0; j < COLUMNS; j++) {
      double product = 1;
      for (const Factor &f : job.factors) {
        const int64_t column = j < columns ? first_column + j : 0;
        product *= f.array[(first_row + row) * f.row + block * f.block + column * f.column];
      }
      factor[j] = product;
    }
  }

  template <int KIND> void chain_of(int64_t row, int64_t k, int64_t count) {
    if (job.odd) a.wide ? chain<KIND, true, true>(row, k, count) : chain<KIND, true, false>(row, k, count);
    else a.wide ? chain<KIND, false, true>(row, k, count) : chain<KIND, false, false>(row, k, count);
  }

  // One product a step.
  template <int KIND, bool ODD, bool WIDE> void chain(int64_t row, int64_t first, int64_t count) {
    for (int64_t k = 0; k < count;) {
      int64_t end = count;
      if (job.scaled) {
        scale(row, first + k);
        const int64_t next = ((first + k) / job.block + 1) * job.block - first;
        if (next < end) end = next;
      }
      for (int v = 0; v < vectors; v += TOGETHER) {
        V acc[TOGETHER];
        for (int i = 0; i < TOGETHER; i++) acc[i] = state[row * VECTORS + v + i];
        if (job.scaled) steps<KIND, ODD, WIDE, true>(acc, v, k, end);
        else steps<KIND, ODD, WIDE, false>(acc, v, k, end);
        for (int i = 0; i < TOGETHER; i++) state[row * VECTORS + v + i] = acc[i];
      }
      k = end;
    }
  }

  template <int KIND, bool ODD, bool WIDE, bool SCALED> void steps(V *sum, int v, int64_t k, int64_t end) {
    const Target t = target;
    V acc[TOGETHER];
    for (int i = 0; i < TOGETHER; i++) acc[i] = sum[i];
    for (; k < end; k++) {
      const V *right = (const V *)(b.values + k * COLUMNS) + v;
      const V *left = (const V *)(a.values + k * COLUMNS) + v;
      const V one = WIDE ? V{} : all(a.values[k]);
#pragma GCC unroll 4
      for (int i = 0; i < TOGETHER; i++) {
        const V x = WIDE ? left[i] : one;
        V product = x * right[i];
        if (SCALED) product *= factors[v + i];
        if (KIND == DLFLOAT16) product = special_product(product, x, right[i]);
        acc[i] = add<KIND, ODD>(acc[i], product, t);
      }
    }
    for (int i = 0; i < TOGETHER; i++) sum[i] = acc[i];
  }

  // Several products a step. Their sum is cut into parts, each of them exact, see golden/arithmetic/sums.py.
  void groups(int64_t row, int64_t first, int64_t count) {
    for (int64_t k = 0; k < count;) {
      const int64_t start = (first + k) / job.lanes * job.lanes;
      int64_t end = start + job.lanes - first;
      const bool complete = end <= count || first + count == job.depth;
      if (end > count) end = count;
      if (job.scaled) scale(row, first + k);
      for (int v = 0; v < vectors; v++) {
        if (start == first + k) begin(row, v);
        if (parts == 1) collect<1>(row, v, k, end);
        else if (parts == 2) collect<2>(row, v, k, end);
        else collect<0>(row, v, k, end);
        if (!complete) continue;
        if (job.kind == EXACT) finish_exact(row, v, start, first + end);
        else if (job.kind == DLFLOAT16) finish<DLFLOAT16>(row, v);
        else finish<IEEE>(row, v);
      }
      k = end;
    }
  }

  V &part(int64_t row, int64_t number, int v) { return sums[(row * parts + number) * VECTORS + v]; }

  void begin(int64_t row, int v) {
    for (int64_t i = 0; i < parts; i++) part(row, i, v) = all(-0.0);  // -0 + x = x for all x
    signs[row * VECTORS + v] = (V)all(SIGN);
    specials[row * VECTORS + v] = V{};
  }

  template <int PARTS> void collect(int64_t row, int v, int64_t k, int64_t end) {
    V sum[PARTS ? PARTS : 1];
    for (int i = 0; i < PARTS; i++) sum[i] = part(row, i, v);
    W negative = (W)signs[row * VECTORS + v];
    V special = specials[row * VECTORS + v];
    for (; k < end; k++) {
      const V x = a.at(a.values, k, v), y = b.at(b.values, k, v);
      V product = x * y;
      negative &= (W)product;
      if (job.kind == DLFLOAT16) {
        const V scaled = job.scaled ? product * factors[v] : product;
        const V of_codes = special_product(scaled, x, y);
        special = (special == V{}) & (magnitude(of_codes) == INF) ? of_codes : special;
      }
      if (PARTS) {
        for (int i = 0; i < PARTS - 1; i++) {
          const V high = (product + job.middles[i]) - job.middles[i];
          sum[i] += high;
          product -= high;
        }
        sum[PARTS ? PARTS - 1 : 0] += product;
      } else {
        for (int64_t i = 0; i < parts - 1; i++) {
          const V high = (product + job.middles[i]) - job.middles[i];
          part(row, i, v) += high;
          product -= high;
        }
        part(row, parts - 1, v) += product;
      }
    }
    for (int i = 0; i < PARTS; i++) part(row, i, v) = sum[i];
    signs[row * VECTORS + v] = (V)negative;
    specials[row * VECTORS + v] = special;
  }

  // The exact sum of an accumulator and parts, rounded to odd as by golden.sums.odd_sum, then to the format.
  template <int KIND> void finish(int64_t row, int v) {
    V &acc = state[row * VECTORS + v];
    for (int64_t i = 0; i < parts; i++) {
      V &x = part(row, i, v);
      if (i) x = numbers(x);  // infinity less infinity
      if (job.scaled) x *= factors[v];
    }
    V total, error;
    if (parts == 1) {
      total = two_sum(part(row, 0, v), acc, error);
      total = odd(total, error);
    } else if (parts == 2) {
      V e, d, f;
      const V s = two_sum(part(row, 0, v), part(row, 1, v), e), t = two_sum(s, acc, d), y = two_sum(d, e, f);
      total = two_sum(t, y, error);
      total = odd(total == total ? total : t, error + f);
    } else {
      total = sum_of_many(row, v, acc);
    }
    // a zero is -0 if all addends are -0
    if (parts > 1) total = total == V{} ? (V)((W)signs[row * VECTORS + v] & sign(acc)) : total;
    if (KIND == DLFLOAT16) {
      const V special = specials[row * VECTORS + v];
      total = magnitude(acc) == INF ? acc : magnitude(special) == INF ? special : total;
    }
    acc = rounded<KIND>(total, target);
  }

  V sum_of_many(int64_t row, int v, V acc) {
    V total;
    for (int lane = 0; lane < WIDTH; lane++) {
      memset(fixed.data(), 0, job.limbs * 8);
      double special = 0;
      for (int64_t i = 0; i <= parts; i++) {
        const double x = i < parts ? part(row, i, v)[lane] : acc[lane];
        if (x - x == 0) add_number(fixed.data(), job.limbs, x, job.lsb_exponent);
        else special += x;
      }
      total[lane] = special == 0 ? rounded_to_odd(fixed.data(), job.limbs, job.lsb_exponent) : special;
    }
    return total;
  }

  void finish_exact(int64_t row, int v, int64_t start, int64_t end) {
    for (int lane = 0; lane < WIDTH && v * WIDTH + lane < columns; lane++) {
      const int64_t column = first_column + v * WIDTH + lane;
      uint64_t *limbs = (uint64_t *)job.sums + ((first_row + row) * job.columns + column) * job.limbs;
      const double factor = job.scaled ? factors[v][lane] : 1.0;
      uint64_t flags = 0;  // +Inf, -Inf, NaN
      for (int bit = 0; bit < 3; bit++) {
        const int64_t at = job.value_bits + bit;
        flags |= (limbs[at / 64] >> at % 64 & 1) << bit;
      }
      const double first = part(row, 0, v)[lane];
      if (first - first == 0) {
        for (int64_t i = 0; i < parts; i++) {
          add_number(limbs, job.limbs, part(row, i, v)[lane] * factor, job.lsb_exponent);
        }
      } else {  // special products set flags, and only the others are added
        for (int64_t k = start; k < end; k++) {
          const double product = value(job.a, first_row + row, column, k) * value(job.b, first_row + row, column, k);
          if (product - product == 0) add_number(limbs, job.limbs, product * factor, job.lsb_exponent);
          else flags |= product == INF ? 1 : product == -INF ? 2 : 4;
        }
      }
      if ((flags & 3) == 3) flags |= 4;
      for (int64_t limb = 0; limb < job.limbs; limb++) {
        const int64_t kept = job.value_bits - 64 * limb;
        if (kept < 64) limbs[limb] &= kept <= 0 ? 0 : (1ull << kept) - 1;
      }
      for (int bit = 0; bit < 3; bit++) {
        const int64_t at = job.value_bits + bit;
        limbs[at / 64] |= (flags >> bit & 1) << at % 64;
      }
    }
  }

  static double value(const Operand &o, int64_t row, int64_t column, int64_t k) {
    const int64_t at = row * o.row + column * o.column + k * o.k;
    return o.values[o.bytes == 1 ? ((const uint8_t *)o.codes)[at] : ((const uint16_t *)o.codes)[at]];
  }

  // golden.aligned.aligned_sums
  void aligned(int64_t row, int64_t first, int64_t count) {
    const double kept_bits = (double)job.kept_bits;
    for (int64_t k = 0; k < count;) {
      const int64_t end = k + job.lanes < count ? k + job.lanes : count;
      if (job.scaled) scale(row, first + k);
      for (int v = 0; v < vectors; v++) {
        const V factor = job.scaled ? factors[v] : all(1.0);
        V &acc = state[row * VECTORS + v];
        V reach = all(-INF);
        for (int64_t l = k; l < end; l++) reach = larger(a.at(a.exponents, l, v) + b.at(b.exponents, l, v), reach);
        const V scale_power = exponent_of(factor);
        const V of_acc = acc == V{} ? all(-8000.0) : larger(exponent_of(acc), all(-126.0));
        const V top = larger(reach + scale_power, of_acc);
        const V units = factor == factor ? clipped_power(kept_bits + scale_power - top) : factor;
        V total = truncated(acc * clipped_power(kept_bits - top));
        for (int64_t l = k; l < end; l++) total += truncated(a.at(a.values, l, v) * b.at(b.values, l, v) * units);
        acc = truncated_to_format(total * clipped_power(top - kept_bits), job.kept_bits, target) + target.zero;
      }
      k = end;
    }
  }

  // golden.bulk.bulk_sums
  void bulk(int64_t row, int64_t first, int64_t count) {
    const double kept_bits = (double)job.kept_bits;
    for (int64_t k = 0; k < count;) {
      const int64_t end = k + job.lanes < count ? k + job.lanes : count;
      if (job.scaled) scale(row, first + k);
      for (int v = 0; v < vectors; v++) {
        const V factor = job.scaled ? factors[v] : all(1.0);
        V &acc = state[row * VECTORS + v];
        V reach = all(-INF), total = V{}, error;
        for (int64_t l = k; l < end; l++) reach = larger(a.at(a.exponents, l, v) + b.at(b.exponents, l, v), reach);
        const V units = clipped_power(kept_bits - reach);
        for (int64_t l = k; l < end; l++) {
          const V product = a.at(a.values, l, v) * b.at(b.values, l, v);
          V size = magnitude(product * units);
          size = (size == V{}) & (product != V{}) ? all(0.5) : size;  // below binary64
          total += (V)((W)jammed(size) | sign(product));
        }
        total = factor == factor ? total * clipped_power(reach - kept_bits + exponent_of(factor)) : factor;
        total = two_sum(odd_to_format(total, target), acc, error);
        acc = odd_to_format(odd(total, error), target);
      }
      k = end;
    }
  }
};

}  // namespace

// Compared with the size of the Job that golden/arithmetic/native.py describes.
extern "C" int job_bytes() { return sizeof(Job); }

// All sums of a job. Return 0, or 1 without memory.
extern "C" int run(const Job *job) {
  const int64_t down = (job->rows + ROWS - 1) / ROWS, tiles = down * ((job->columns + COLUMNS - 1) / COLUMNS);
  std::atomic<int64_t> next{0};
  std::atomic<int> failed{0};
  const auto work = [&] {
    try {
      Worker worker(*job);
      for (int64_t tile = next++; tile < tiles; tile = next++) worker.tile(tile % down * ROWS, tile / down * COLUMNS);
    } catch (const std::bad_alloc &) {
      failed = 1;
    }
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < job->threads && i < tiles; i++) {
    try {
      threads.emplace_back(work);
    } catch (...) {
      break;  // the others do its work
    }
  }
  work();
  for (std::thread &thread : threads) thread.join();
  return failed;
}
