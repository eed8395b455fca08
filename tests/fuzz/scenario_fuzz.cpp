// libFuzzer entry: clang++ -fsanitize=fuzzer,address,undefined. The corpus to start from is
// scenarios/examples.
#include "tests/fuzz/scenario_fuzz.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  rollcast::fuzz_scenario(std::string(data, data + size), {});
  return 0;
}
