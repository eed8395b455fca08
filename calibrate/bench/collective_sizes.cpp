#include "calibrate/bench/collective_sizes.hpp"

namespace rollcast {

std::int64_t message_elements(std::string const& operation, std::int64_t bytes, std::int64_t element,
                              int ranks) {
  bool const divided =
      operation == "all_gather" || operation == "reduce_scatter" || operation == "all_to_all";
  std::int64_t const elements = bytes / element;
  return divided ? elements / ranks * ranks : elements;
}

std::vector<std::int64_t> team_sizes(std::int64_t gpus) {
  std::vector<std::int64_t> sizes = doubled_sizes(2, gpus - 1);
  sizes.push_back(gpus);
  return sizes;
}

std::vector<std::int64_t> doubled_sizes(std::int64_t smallest, std::int64_t largest) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = smallest; size <= largest; size *= 2) sizes.push_back(size);
  return sizes;
}

}  // namespace rollcast
