// JSON values as a Python pickle (protocol 4), in the operations that PyTorch's memory viewer understands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rollcast {

std::string to_pickle(nlohmann::ordered_json const& value);

}  // namespace rollcast
