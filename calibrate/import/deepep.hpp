// The table of DeepEP's own figures: version, gpu, nic, mode, EP, dispatch_us, combine_us, ... on nodes of
// eight GPUs.
//
// Rows of low-latency mode become ep_dispatch and ep_combine of 128 tokens of 7168 numbers, top 8 of 256
// experts, as its documentation says of them (the expert count: DeepSeek-V3's); variant "deepep low latency",
// within one node "deepep low latency, RDMA only" (that version left NVLink aside). Rows that give a
// bandwidth and no time are skipped.
#pragma once

#include <string>
#include <vector>

#include "calibrate/import/imported.hpp"

namespace rollcast {

bool is_deepep(std::vector<std::string> const& columns);
void read_deepep(SourceText const& source, Imported& out);

}  // namespace rollcast
