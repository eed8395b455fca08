#include "models/dataset_samples.hpp"

#include <stdexcept>

namespace rollcast {

std::vector<DatasetItem> items_of_step(AlgorithmKind kind, Workload const& w, int count, std::uint64_t seed,
                                       int step) {
  if (kind != AlgorithmKind::sft && kind != AlgorithmKind::dpo)
    throw std::logic_error("only sft and dpo train on a data set");
  auto const draw = [&](Lengths const& lengths, Purpose purpose, std::int64_t index) {
    return sample(lengths,
                  {seed, purpose, static_cast<std::uint32_t>(step), static_cast<std::uint64_t>(index)}, step);
  };
  std::vector<DatasetItem> items;
  for (std::int64_t id = 0; id < count; ++id) {
    DatasetItem item{id, draw(w.prompt_tokens, Purpose::prompt_length, id), 0, 0};
    if (kind == AlgorithmKind::sft) {
      item.response_tokens = draw(w.response_tokens, Purpose::response_length, id);
    } else {
      item.response_tokens = draw(w.response_tokens, Purpose::response_length, 2 * id);
      item.rejected_tokens = draw(w.response_tokens, Purpose::response_length, 2 * id + 1);
    }
    items.push_back(item);
  }
  return items;
}

}  // namespace rollcast
