// How a run ends.
#pragma once

#include <string_view>

namespace rollcast {

enum class Outcome { completed, oom, stalled, deadlock, refused, failed, infeasible };
std::string_view name_of(Outcome o);

// Who has no memory left: PyTorch's allocator, the driver (an engine that wakes), the host.
enum class OomKind { torch, driver, host };
std::string_view name_of(OomKind k);

}  // namespace rollcast
