// The JSON shapes as a document.
#pragma once

#include <string>

namespace rollcast {

// Markdown: every key of rollcast run --json (type, unit, meaning). A test compares it with json_text().
std::string json_schema_markdown();

}  // namespace rollcast
