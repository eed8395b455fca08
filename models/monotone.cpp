#include "models/monotone.hpp"

#include <algorithm>

namespace rollcast {
namespace {

constexpr int kRounds = 20;

bool is_ascending(std::vector<double> const& values, std::size_t first, std::size_t stride,
                  std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    if (values[first + i * stride] < values[first + (i - 1) * stride]) return false;
  }
  return true;
}

template <class F>
void for_each_line(std::size_t rows, std::size_t columns, std::size_t layers, F const& f) {
  for (std::size_t j = 0; j < columns * layers; ++j) f(j, columns * layers, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t l = 0; l < layers; ++l) f(i * columns * layers + l, layers, columns);
  }
  for (std::size_t i = 0; i < rows * columns; ++i) f(i * layers, std::size_t{1}, layers);
}

}  // namespace

bool make_line_ascending(std::vector<double>& values, std::size_t first, std::size_t stride,
                         std::size_t count) {
  if (is_ascending(values, first, stride, count)) return false;
  struct Block {
    double mean;
    double size;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back({values[first + i * stride], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      Block const b = blocks.back();
      blocks.pop_back();
      Block& a = blocks.back();
      a.mean = (a.mean * a.size + b.mean * b.size) / (a.size + b.size);
      a.size += b.size;
    }
  }
  std::size_t i = 0;
  for (Block const& b : blocks) {
    for (double n = 0; n < b.size; ++n) values[first + (i++) * stride] = b.mean;
  }
  return true;
}

void make_ascending(std::vector<double>& values, std::size_t rows, std::size_t columns, std::size_t layers) {
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    changed = false;
    for_each_line(rows, columns, layers, [&](std::size_t first, std::size_t stride, std::size_t count) {
      changed = make_line_ascending(values, first, stride, count) || changed;
    });
  }
  if (!changed) return;
  // A running maximum along one axis keeps the other axes ascending once they are.
  for_each_line(rows, columns, layers, [&](std::size_t first, std::size_t stride, std::size_t count) {
    for (std::size_t i = 1; i < count; ++i) {
      double& v = values[first + i * stride];
      v = std::max(v, values[first + (i - 1) * stride]);
    }
  });
}

}  // namespace rollcast
