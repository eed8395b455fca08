// Least-squares monotone values on a grid, for prices that must not fall when work grows.
#pragma once

#include <cstddef>
#include <vector>

namespace rollcast {

// One line of a grid: values[first + i x stride], i = 0 .. count - 1. Made ascending by pooling adjacent
// violators (the closest ascending values in least squares). True when something changed.
bool make_line_ascending(std::vector<double>& values, std::size_t first, std::size_t stride,
                         std::size_t count);

// values[(i x columns + j) x layers + l] made ascending along all three axes: the lines of each axis in turn
// until nothing changes, at most 20 rounds, after that by running maxima.
void make_ascending(std::vector<double>& values, std::size_t rows, std::size_t columns, std::size_t layers);

}  // namespace rollcast
