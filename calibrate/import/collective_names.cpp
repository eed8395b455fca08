#include "calibrate/import/collective_names.hpp"

#include <cctype>

namespace rollcast {

std::string collective_operation(std::string_view text) {
  if (text.ends_with("_perf")) text.remove_suffix(5);
  std::string letters;
  for (char const c : text) {
    auto const u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0) letters += static_cast<char>(std::tolower(u));
  }
  if (letters == "allreduce") return "all_reduce";
  if (letters == "allgather") return "all_gather";
  if (letters == "reducescatter") return "reduce_scatter";
  if (letters == "broadcast") return "broadcast";
  if (letters == "alltoall") return "all_to_all";
  if (letters == "sendrecv" || letters == "p2p") return "send_recv";
  return {};
}

}  // namespace rollcast
