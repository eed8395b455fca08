// A profile from measured points of one GPU.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/profile_text.hpp"
#include "calibrate/sample.hpp"
#include "calibrate/unused_rows.hpp"
#include "models/hardware.hpp"

namespace rollcast {

struct FitOptions {
  bool train_only = true;  // false: every row, for a profile that nobody checks on them
  std::string stack;       // where several measured the same: the software to take, as its version begins
  std::string date;
};

// Tables of what the samples hold: gemm by type, attention by type and window, moe by type and distribution,
// collectives with the engines' own all-reduce. Of several software versions one is taken for each operation
// and type: that of `stack`, else the one with most (n, k) pairs, head configurations, expert shapes or pairs
// of ranks and doubled sizes; more rows among equals. Collectives are chosen so for each node count and
// fabric; those on several nodes without a fabric, in place or with a forced algorithm are left out, as are
// sustained rows. Laws of memory passes by kind become the table "passes". Numbers: memory_pass, the share of
// the memory bandwidth of a layer's passes together; sustained_clock, of sustained products (fit_clock.hpp);
// attention_backward_over_forward; pcie and kernel_launch where copies and launches were measured. Served
// points give the overhead of their engine, the table "engines" (fit_engine.hpp). Every
// operation of a run has a note, measured or not (operation_notes.hpp).
struct ProfileFit {
  ProfileText profile;
  std::size_t fitted = 0;          // so many operations, the first ones, have notes of these samples
  std::vector<UnusedRows> unused;  // of this GPU
};

// Rows whose time cannot be true (plausible_time.hpp) are left out. No operation fitted: the profile holds
// nothing that the data sheet does not say.
ProfileFit fit_samples(Gpu const& gpu, std::vector<Sample> const& samples, FitOptions const& options);

// The profile alone.
ProfileText fit_profile(Gpu const& gpu, std::vector<Sample> const& samples, FitOptions const& options);

}  // namespace rollcast
