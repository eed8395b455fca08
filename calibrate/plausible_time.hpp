// Whether a measured time can be true. The rule, of every operation:
//
//   too short   less than a third of least_time: caches beat the memory's rate, but not by three
//   too long    more than 10,000 x max(least_time, 1 ms); times to a first token are never too long, as
//               requests wait
#pragma once

#include "calibrate/sample.hpp"
#include "models/hardware.hpp"

namespace rollcast {

// What the data sheet's peaks allow, at least 100 ns for each kernel:
//   gemm, moe            gemm_roofline, moe_roofline of bf16, fp8 and fp8_block
//   attention_prefill    4 heads head_dim FLOPs for each pair of tokens at the best matrix rate
//   attention_backward   10 of them at the bf16 rate
//   attention_decode     K and V of the context at the memory bandwidth
//   memory_pass          bytes_of_pass at the memory bandwidth
//   collectives          bytes (ranks - 1) / ranks at the faster of NVLink and PCIe, whatever the fabric
//   copy                 bytes at PCIe, between GPUs at NVLink where there is one
Seconds least_time(Gpu const& gpu, Sample const& s);

enum class TimeJudgement { plausible, too_short, too_long };
TimeJudgement judge_time(Gpu const& gpu, Sample const& s);

}  // namespace rollcast
