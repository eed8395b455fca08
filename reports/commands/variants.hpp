// Variants of a scenario on the command line.
#pragma once

#include <string>
#include <vector>

namespace rollcast {

// "train.parallel.tp=2,schedule={async: {max_staleness: 1, sync_every: 1}}" as two overrides: commas separate
// outside of brackets, braces and quotes (value_list.hpp). A problem in one sentence if a part is not
// KEY=VALUE, or what was opened is not closed.
struct VariantSets {
  std::vector<std::string> sets;
  std::string error;
};
VariantSets variant_sets(std::string const& text);

// "a/b/two.yaml" -> "two".
std::string name_of_file(std::string const& path);

}  // namespace rollcast
