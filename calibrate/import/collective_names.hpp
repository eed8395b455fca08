// Names of collectives as programs write them.
#pragma once

#include <string>
#include <string_view>

namespace rollcast {

// "all_reduce_perf", "allreduce", "alltoall", "sendrecv", "AllGather" -> the operation of a Sample. Empty for
// one without a price (reduce, gather, scatter, hypercube).
std::string collective_operation(std::string_view text);

}  // namespace rollcast
