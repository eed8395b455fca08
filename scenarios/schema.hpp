// SCHEMA.md, written from the same descriptions that read a scenario.
#pragma once

#include <string>

namespace rollcast {

// The scenario keys in Markdown: one table per block with key, type, default, meaning; keys that are not
// simulated yet say so.
std::string schema_markdown();

}  // namespace rollcast
