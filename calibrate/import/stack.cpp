#include "calibrate/import/stack.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "calibrate/import/gpu_names.hpp"

namespace rollcast {
namespace {

constexpr int kMostFoldersUp = 8;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::string stack_of(SourceText const& source, TableReader const& row) {
  if (!row.text("version").empty()) {
    // The collector names the framework that started NCCL; the version is NCCL's.
    std::string const name = row.text("kernel_source") == "NCCL" ? "nccl" : lower(row.text("framework"));
    return name.empty() ? row.text("version") : name + " " + row.text("version");
  }
  std::vector<std::string> const parts = parts_of_path(source.path);
  std::size_t const n = parts.size();
  return n < 3 ? std::string() : parts[n - 3] + " " + parts[n - 2];
}

std::string gpu_of(SourceText const& source, TableReader& row) {
  std::string gpu = gpu_named_in(row.text("device"));
  if (gpu.empty()) gpu = source.hints.gpu;
  if (gpu.empty()) gpu = gpu_of_path(source.path);
  if (gpu.empty())
    row.problem(row.has("device") ? "device" : "", "no telling which GPU this is", "name it with --gpu");
  return gpu;
}

std::map<std::string, std::string> kernel_names(SourceText const& source) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> names;
  fs::path folder = fs::path(source.path).parent_path();
  for (int up = 0; up < kMostFoldersUp && names.empty(); ++up) {
    if (std::ifstream file(folder / "KERNELS.csv"); file) {
      std::ostringstream text;
      text << file.rdbuf();
      std::string const content = text.str();
      SourceText const table{(folder / "KERNELS.csv").string(), "KERNELS.csv", content, {}};
      Imported ignored;
      TableReader rows(table, ignored);
      while (rows.next()) names[rows.text("kernel_source_id")] = rows.text("kernel_source");
    }
    if (!folder.has_parent_path() || folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return names;
}

}  // namespace rollcast
