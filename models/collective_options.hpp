// How collectives of several communicators are issued on one GPU (models/collective_order.hpp).
#pragma once

#include <string_view>

namespace rollcast {

// Where the first rank of a fully sharded trainer gathers a weight that it sends to engines on other GPUs:
// completed on the default stream before the send, or, as the send asks for it, on the sender's stream behind
// the broadcasts that are under way.
enum class GatherStream { default_stream, sender };

// The order in which a GPU issues its communicators: everywhere the same, or each GPU its own.
enum class IssueOrder { fixed, random };

// Communicators of all GPUs of the actor's pool that sync weights side by side, each on a stream of its own.
struct CommunicatorOptions {
  int per_gpu = 1;
  IssueOrder order = IssueOrder::fixed;
  // Kernels that run at a time. Streams share the hardware's queues: CUDA_DEVICE_MAX_CONNECTIONS is 8 unless
  // it is set (CUDA C++ Programming Guide, environment variables).
  int concurrent = 8;
};

std::string_view name_of(GatherStream v);
std::string_view name_of(IssueOrder v);

}  // namespace rollcast
