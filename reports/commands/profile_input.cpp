#include "reports/commands/profile_input.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "calibrate/embedded_profiles.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/output_file.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {

std::optional<ProfileText> read_profile(std::string const& path) {
  if (auto built_in = embedded_profile_of(path)) return built_in;
  if (auto built_in = embedded_profile_called(path)) return built_in;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (!in || !(content << in.rdbuf())) {
    print_error(fmt::format("the profile {} cannot be read", shown(path)));
    return std::nullopt;
  }
  ProfileTextResult r = profile_from_text(content.str(), path);
  std::fputs(format(r.problems).c_str(), stderr);
  if (r.profile && r.profile->name.empty()) r.profile->name = path;
  return std::move(r.profile);
}

}  // namespace rollcast
