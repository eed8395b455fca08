// YAML files that a configuration or a command names.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/import/configuration.hpp"

namespace rollcast {

enum class Parents { ignored, followed };

// The settings of the root of c's document or of another file, after those of its parents (NeMo RL's
// defaults:, a name or a list of names beside the file). A parent that is not there is listed as assumed: the
// framework's defaults.
void add_document(Configuration& c, Value const& root, std::string const& folder, Parents parents, int depth,
                  Settings& into);

// The file of that name, by its own path or in c's folder. false: there is none, which is listed as assumed.
bool add_file(Configuration& c, std::string const& name, Parents parents, Settings& into);

}  // namespace rollcast
