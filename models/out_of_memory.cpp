#include "models/out_of_memory.hpp"

#include <fmt/format.h>

namespace rollcast {

bool identities_hold(OutOfMemory const& oom) {
  std::int64_t used = oom.process;
  for (ProcessBytes const& p : oom.other_processes) used += p.bytes;
  return oom.total == oom.free + used &&
         oom.process == oom.allocated + oom.reserved_unallocated + oom.non_torch &&
         oom.private_pools <= oom.allocated;
}

std::string torch_size(std::int64_t bytes) {
  auto const v = static_cast<double>(bytes);
  if (bytes <= 1024) return fmt::format("{} bytes", bytes);
  if (bytes <= 1 << 20) return fmt::format("{:.2f} KiB", v / 1024);
  if (bytes <= 1 << 30) return fmt::format("{:.2f} MiB", v / (1 << 20));
  return fmt::format("{:.2f} GiB", v / (1 << 30));
}

std::string message(OutOfMemory const& oom, int gpu) {
  std::string out = fmt::format(
      "CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which {} is free. ",
      torch_size(oom.tried), gpu, torch_size(oom.total), torch_size(oom.free));
  for (ProcessBytes const& p : oom.other_processes)
    out += fmt::format("Process {} has {} memory in use. ", p.pid, torch_size(p.bytes));
  out += fmt::format("Including non-PyTorch memory, this process has {} memory in use. ",
                     torch_size(oom.process));
  if (oom.allowed) out += torch_size(*oom.allowed) + " allowed; ";
  out += fmt::format("Of the allocated memory {} is allocated by PyTorch, ", torch_size(oom.allocated));
  if (oom.private_pools > 0)
    out += fmt::format("with {} allocated in private pools (e.g., CUDA Graphs), ",
                       torch_size(oom.private_pools));
  return out +
         fmt::format("and {} is reserved by PyTorch but unallocated.", torch_size(oom.reserved_unallocated));
}

}  // namespace rollcast
