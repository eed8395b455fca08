// JSON values as a Python pickle (protocol 4), in the operations that PyTorch's memory viewer understands,
// and plain data back out of a pickle.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace rollcast {

std::string to_pickle(nlohmann::ordered_json const& value);

// A value, or one sentence with the byte that it is about. Read are the binary operations of protocols 2 to 5
// for plain data, as Python and PyTorch (torch/csrc/jit/serialization/pickler.cpp) write them: tuples become
// lists, bytes become texts, whole numbers as keys become texts. What builds Python objects is refused, and
// never run. At most 8 million values, also after shared ones are written out, and 64 levels.
struct PickleResult {
  std::optional<nlohmann::json> value;
  std::string error;
};
PickleResult from_pickle(std::string_view bytes);

}  // namespace rollcast
