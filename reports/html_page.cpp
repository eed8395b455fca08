#include "reports/html_page.hpp"

#include <stdexcept>

#include "reports/version.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

// Marks of reports/html/page.html.
constexpr std::string_view kTitleMark = "@rollcast-title@";
constexpr std::string_view kDataMark = "@rollcast-data@";

// Nothing in it can end the script element or begin a comment: "<" is written as an escape of JSON.
std::string json_in_script(Json const& j) {
  std::string out;
  for (char c : j.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// Bytes that are no UTF-8 become U+FFFD, as in the JSON.
std::string escaped(std::string const& text) {
  std::string const valid =
      Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  std::string out;
  for (char c : valid) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

std::string title_of(Json const& data) {
  for (char const* key : {"title", "scenario"}) {
    if (data.is_object() && data.contains(key) && data[key].is_string()) return data[key].get<std::string>();
  }
  return "forecast";
}

}  // namespace

std::string html_problem() {
  if (!embedded_page().empty()) return {};
  return "this build has no HTML report, as node or npm was missing when it was configured; install nodejs "
         "and npm, configure and build again";
}

std::string html_page(std::string_view kind, Json const& data) {
  if (std::string const problem = html_problem(); !problem.empty()) throw std::logic_error(problem);
  return filled_page(embedded_page(), kind, data);
}

std::string filled_page(std::string_view page, std::string_view kind, Json const& data) {
  Json const whole = {{"kind", kind}, {"version", kVersion}, {"data", data}};
  std::size_t const title = page.find(kTitleMark);
  std::size_t const where = page.find(kDataMark);
  if (title == std::string_view::npos || where == std::string_view::npos || where < title)
    throw std::logic_error("the page has no marks for its title and data");
  std::string out(page.substr(0, title));
  out += escaped(title_of(data));
  out += page.substr(title + kTitleMark.size(), where - title - kTitleMark.size());
  out += json_in_script(whole);
  out += page.substr(where + kDataMark.size());
  return out;
}

}  // namespace rollcast
