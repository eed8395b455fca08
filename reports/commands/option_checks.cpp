#include "reports/commands/option_checks.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "models/units.hpp"

namespace rollcast {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  auto const check = [least, most](std::string const& text) -> std::string {
    std::uint64_t value = 0;
    char const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && least <= value && value <= most) return {};
    return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, "");
}

CLI::Validator memory_size() {
  auto const check = [](std::string const& text) -> std::string {
    auto const parsed = parse_quantity<Bytes>(text);
    if (!parsed.value) return parsed.error;
    if (*parsed.value < bytes(1)) return fmt::format("'{}' is not more than 0", text);
    if (*parsed.value > GiB(1 << 20)) return fmt::format("'{}' is more than 1 PiB", text);
    return {};
  };
  return CLI::Validator(check, "");
}

CLI::Validator output_path() {
  auto const check = [](std::string const& text) -> std::string {
    if (text.empty()) return "needs the name of a file";
    if (text != "-" && text.front() == '-')
      return fmt::format("'{}' looks like an option; write './{}' for a file of that name", text, text);
    return {};
  };
  return CLI::Validator(check, "");
}

}  // namespace rollcast
