// The work: codes, scales, accumulators, and how they are added. golden/arithmetic/native.py fills in a Job.

#pragma once

#include "vectors.h"

namespace {

struct Operand {
  const void *codes;
  int64_t bytes;          // of a code
  int64_t row, column, k; // strides in codes
  const double *values;   // of all codes; into dlfloat16, NaN and infinity are the infinity of the code's sign
  const double *exponents; // into aligned sums: of the rows of all codes
};

struct Factor {           // of products: array[row * i + block * k / block + column * j]
  const double *array;
  int64_t row, block, column;
};

}  // namespace

struct Job {
  int64_t kind, rows, columns, depth, lanes, block, threads, scaled;
  Operand a, b;           // if only one of them varies along a row of sums, that is b
  Factor factors[2];
  void *sums;             // accumulators before and after, rows * columns, of 2, 4, or limbs * 8 bytes
  int64_t fraction_bits, bias, has_subnormals, kept_bits, canonical_nan, bits;
  double zero;            // -0, or +0 where -0 becomes +0
  int64_t odd, cuts;
  const double *middles;  // of cuts
  int64_t lsb_exponent, limbs, value_bits;
};

namespace {

constexpr int COLUMNS = 64;         // of a tile of sums
constexpr int64_t DEPTH = 128;      // products of a sum whose operands are decoded at a time

// Operands, decoded: of all columns of a tile, or one for all of them, in [k][column].
struct Panel {
  double *values, *exponents;
  bool wide;  // whether they vary along the columns

  void fill(const Operand &o, int64_t row, int64_t column, int64_t columns, int64_t k, int64_t count) {
    if (o.bytes == 1) fill_from((const uint8_t *)o.codes, o, row, column, columns, k, count);
    else fill_from((const uint16_t *)o.codes, o, row, column, columns, k, count);
  }

  template <class C>
  void fill_from(const C *codes, const Operand &o, int64_t row, int64_t column, int64_t columns, int64_t k,
                 int64_t count) {
    codes += row * o.row + column * o.column + k * o.k;
    const int64_t width = wide ? COLUMNS : 1;
    for (int64_t i = 0; i < count; i++, codes += o.k) {
      look_up(codes, o.values, o.column, columns, width, values + i * width);
      if (o.exponents) look_up(codes, o.exponents, o.column, columns, width, exponents + i * width);
    }
  }

  // Columns beyond the tile are copies of its last.
  template <class C>
  static void look_up(const C *codes, const double *table, int64_t stride, int64_t columns, int64_t width,
                      double *row) {
    const int64_t different = stride == 0 ? 1 : columns < width ? columns : width;
    for (int64_t j = 0; j < different; j++) row[j] = table[codes[j * stride]];
    const double last = row[different - 1];
    for (int64_t j = different; j < width; j++) row[j] = last;
  }

  V at(const double *array, int64_t k, int v) const {
    return wide ? ((const V *)(array + k * COLUMNS))[v] : all(array[k]);
  }
};

}  // namespace
