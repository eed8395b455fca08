// rollcast calibrate bench --model NAME --out samples.csv: measures this machine's GPUs.
#pragma once

#include <CLI/CLI.hpp>

namespace rollcast {

// Adds the verb to `calibrate`. Exit code 0: measured; 1: a program failed, the rows until then are kept; 2:
// bad input, a program that was not built, or no CUDA device.
void add_bench_command(CLI::App& calibrate, int& exit_code);

}  // namespace rollcast
