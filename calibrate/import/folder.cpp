#include "calibrate/import/folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "calibrate/import/aiconfigurator.hpp"
#include "calibrate/import/deepep.hpp"
#include "calibrate/import/flash_attention.hpp"
#include "calibrate/import/llmservingsim.hpp"
#include "calibrate/import/nccl_tests.hpp"
#include "calibrate/import/nvbandwidth.hpp"
#include "calibrate/import/table.hpp"
#include "calibrate/import/vidur.hpp"
#include "calibrate/sample_file.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;
using Columns = std::vector<std::string>;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{512} << 20;

struct Kind {
  char const* name;
  bool (*recognises)(SourceText const&, Columns const&);
  void (*read)(SourceText const&, Imported&);
};

template <bool (*F)(Columns const&)>
bool by_columns(SourceText const&, Columns const& c) {
  return F(c);
}
template <bool (*F)(SourceText const&)>
bool by_text(SourceText const& s, Columns const&) {
  return F(s);
}

// The first that recognises a file reads it: tables by their columns before logs by their words.
std::vector<Kind> const& kinds() {
  static std::vector<Kind> const all = {
      {"rollcast samples", by_text<is_sample_file>, read_sample_file},
      {"aiconfigurator gemm", by_columns<is_aiconfigurator_gemm>, read_aiconfigurator_gemm},
      {"aiconfigurator context attention", is_aiconfigurator_prefill, read_aiconfigurator_prefill},
      {"aiconfigurator generation attention", is_aiconfigurator_decode, read_aiconfigurator_decode},
      {"aiconfigurator moe", by_columns<is_aiconfigurator_moe>, read_aiconfigurator_moe},
      {"aiconfigurator nccl", by_columns<is_aiconfigurator_nccl>, read_aiconfigurator_nccl},
      {"aiconfigurator custom all-reduce", by_columns<is_aiconfigurator_all_reduce>,
       read_aiconfigurator_all_reduce},
      {"aiconfigurator wideep", by_columns<is_aiconfigurator_wideep>, read_aiconfigurator_wideep},
      {"DeepEP figures", by_columns<is_deepep>, read_deepep},
      {"aiconfigurator served", by_columns<is_aiconfigurator_served>, read_aiconfigurator_served},
      {"vidur layers", by_columns<is_vidur_layers>, read_vidur_layers},
      {"vidur network", by_columns<is_vidur_network>, read_vidur_network},
      {"LLMServingSim layers", by_columns<is_llmservingsim>, read_llmservingsim},
      {"FlashAttention charts", by_columns<is_flash_attention>, read_flash_attention},
      {"nccl-tests table", by_columns<is_nccl_tests_table>, read_nccl_tests_table},
      {"nvbandwidth output", by_text<is_nvbandwidth_log>, read_nvbandwidth_log},
      {"nccl-tests output", by_text<is_nccl_tests_log>, read_nccl_tests_log},
  };
  return all;
}

bool looks_like_text(std::string_view text) {
  return text.substr(0, 4096).find('\0') == std::string_view::npos;
}

// The files of these are measured data; others beside them (licences, notes, settings) are not opened.
bool may_be_data(fs::path const& file) {
  std::string const e = file.extension().string();
  return e == ".csv" || e == ".txt" || e == ".log" || e == ".out" || e.empty();
}

struct Found {
  std::string path;
  std::string name;
};

std::vector<Found> files_below(fs::path const& folder, std::vector<Problem>& problems) {
  std::vector<Found> files;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (fs::recursive_directory_iterator const end; !error && it != end; it.increment(error)) {
    bool const hidden = it->path().filename().string().starts_with('.');
    std::error_code ignored;
    if (hidden && it->is_directory(ignored)) it.disable_recursion_pending();
    if (hidden || !it->is_regular_file(ignored) || !may_be_data(it->path())) continue;
    files.push_back({it->path().generic_string(), it->path().lexically_relative(folder).generic_string()});
  }
  if (error) {
    Problem p;
    p.file = folder.generic_string();
    p.what = "cannot list this folder: " + error.message();
    problems.push_back(std::move(p));
  }
  std::sort(files.begin(), files.end(), [](Found const& a, Found const& b) { return a.name < b.name; });
  return files;
}

void add_problem(std::vector<Problem>& problems, std::string const& file, std::string what,
                 std::string remedy) {
  Problem p;
  p.file = file;
  p.what = std::move(what);
  p.remedy = std::move(remedy);
  problems.push_back(std::move(p));
}

// Whether the file was of a known kind.
bool import_file(Found const& found, ImportHints const& hints, ImportResult& result) {
  std::error_code error;
  std::uintmax_t const size = fs::file_size(found.path, error);
  if (!error && size > kMostBytes) {
    add_problem(result.imported.problems, found.path, "larger than 512 MiB", "split it");
    return true;
  }
  std::ifstream in(found.path, std::ios::binary);
  std::ostringstream content;
  if (!in || (size > 0 && !(content << in.rdbuf()))) {
    add_problem(result.imported.problems, found.path, "cannot be read", "");
    return true;
  }
  std::string const text = std::move(content).str();
  ImportedFile file = import_text({found.path, found.name, text, hints}, result.imported);
  bool const known = !file.kind.empty();
  if (known) result.files.push_back(std::move(file));
  return known;
}

void drop_impossible_shapes(SourceText const& source, std::size_t first, Imported& out) {
  std::vector<Sample> kept;
  for (std::size_t i = first; i < out.samples.size(); ++i) {
    std::string const problem = shape_problem(out.samples[i]);
    if (problem.empty()) {
      kept.push_back(std::move(out.samples[i]));
    } else {
      skip(out, source, out.samples[i].operation + ": " + problem);
    }
  }
  out.samples.resize(first);
  std::move(kept.begin(), kept.end(), std::back_inserter(out.samples));
}

}  // namespace

std::vector<std::string> import_kinds() {
  std::vector<std::string> names;
  for (Kind const& k : kinds()) names.emplace_back(k.name);
  return names;
}

ImportedFile import_text(SourceText const& source, Imported& out) {
  ImportedFile file{source.path, "", 0};
  if (!looks_like_text(source.text)) return file;
  Columns const columns = table_columns(source.text);
  for (Kind const& k : kinds()) {
    if (!k.recognises(source, columns)) continue;
    std::size_t const before = out.samples.size();
    k.read(source, out);
    drop_impossible_shapes(source, before, out);
    file.kind = k.name;
    file.samples = out.samples.size() - before;
    break;
  }
  return file;
}

void import_path(std::string const& path, ImportHints const& hints, ImportResult& result) {
  std::error_code error;
  fs::file_status const status = fs::status(path, error);
  if (fs::is_directory(status)) {
    for (Found const& f : files_below(path, result.imported.problems)) import_file(f, hints, result);
    return;
  }
  if (!fs::is_regular_file(status)) {
    add_problem(result.imported.problems, path,
                fs::exists(status) ? "not a file or a folder" : "is not there", "");
    return;
  }
  if (!import_file({path, fs::path(path).filename().string()}, hints, result)) {
    std::vector<std::string> const names = import_kinds();
    add_problem(result.imported.problems, path, "none of the kinds that can be read",
                one_of(std::vector<std::string_view>(names.begin(), names.end())) + " can be");
  }
}

}  // namespace rollcast
