// The JSON shapes as a document; tests compare it with what is written.
#pragma once

#include <string>

namespace rollcast {

// Markdown, one row a key: type, unit, meaning.
std::string run_json_markdown();       // json_text()
std::string memory_json_markdown();    // memory_json()
std::string weights_json_markdown();   // weights_json()
std::string resume_json_markdown();    // resume_json()
std::string validate_json_markdown();  // validation_json()
std::string blame_json_markdown();     // blame_json()
std::string compare_json_markdown();   // contest_json()
std::string ratio_json_markdown();     // ratio_json(), ratio_csv()
std::string plan_json_markdown();      // plan_json()

// All, as they follow the scenario keys in scenarios/SCHEMA.md.
std::string json_schema_markdown();

}  // namespace rollcast
