// One self-contained HTML file: the bundle of reports/html with a report's data in it. It needs no network.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rollcast {

// The page as it was bundled when the program was built, with two marks in it; empty where the build had no
// node and npm.
std::string_view embedded_page();

// Why there is no page, in one sentence; empty where there is one.
std::string html_problem();

// kind: "run" (data: reports/html_report.hpp), "compare" or "ratio" (data: what their --json holds). data's
// "title", or else its "scenario", is the title of the page. Text may hold anything: it is data, never
// markup. std::logic_error where html_problem() says that there is no page.
std::string html_page(std::string_view kind, nlohmann::ordered_json const& data);

// The same with a page of the caller's.
std::string filled_page(std::string_view page, std::string_view kind, nlohmann::ordered_json const& data);

}  // namespace rollcast
