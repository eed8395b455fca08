#include "calibrate/bench_collection.hpp"

#include <algorithm>

#include "calibrate/sample_file.hpp"

namespace rollcast {
namespace {

// Whether a list joined by "; " holds a value.
bool holds(std::string_view list, std::string_view value) {
  constexpr std::string_view kBetween = "; ";
  while (true) {
    auto const end = list.find(kBetween);
    if (list.substr(0, end) == value) return true;
    if (end == std::string_view::npos) return false;
    list.remove_prefix(end + kBetween.size());
  }
}

}  // namespace

void BenchCollection::begin_program() { in_header_ = true; }

bool BenchCollection::add(std::string_view line) {
  if (in_header_) {
    in_header_ = line.starts_with('#');  // the names of the columns end it
    add_header(line);
    return false;
  }
  body_ += std::string(line) + '\n';
  bool const row = !line.empty() && !line.starts_with('#');
  if (row) ++rows_;
  return row;
}

void BenchCollection::add_header(std::string_view line) {
  for (auto const& [key, value] : sample_header(line)) {
    auto const it = std::find_if(header_.begin(), header_.end(),
                                 [&, name = &key](auto const& entry) { return entry.first == *name; });
    if (it == header_.end()) {
      header_.emplace_back(key, value);
    } else if (!holds(it->second, value)) {
      it->second += "; " + value;
    }
  }
}

std::string BenchCollection::value(std::string_view key) const {
  for (auto const& [name, value] : header_) {
    if (name == key) return value;
  }
  return {};
}

std::string BenchCollection::text() const { return sample_text({header_, {}}) + body_; }

}  // namespace rollcast
