#include "calibrate/measured_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "calibrate/datasheet.hpp"
#include "calibrate/measured_collectives.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

constexpr char const* kEngines = "engines";
constexpr double kLargestLog = 10;  // a factor of 22,000

// Kernels of H100-SXM priced from the A100-SXM-80GB profile and the data sheets alone, all 64,124 rows in
// bf16 of the tables; by operation median and p90: products 10.7 and 28 %, decode 18 and 50 %, prefill 17 and
// 41 %, experts 27 and 82 %.
constexpr double kDerivedMedian = 0.143;
constexpr double kDerivedP90 = 0.451;
constexpr char const* kDerivedBand = "A100 profile against H100 tables";

using Card = std::shared_ptr<Gpu const>;

template <class T>
std::string read_into(Parsed<T> parsed, Card const& measured_on, std::vector<T>& tables) {
  if (!parsed.value) return parsed.error.empty() ? "cannot be read" : parsed.error;
  for (double const v : parsed.value->log_ratio) {
    if (std::fabs(v) > kLargestLog)
      return fmt::format(
          "a measured time has a log ratio of {:.1f} to its roofline, at most {:.0f} is allowed", v,
          kLargestLog);
  }
  parsed.value->measured_on = measured_on;
  tables.push_back(std::move(*parsed.value));
  return {};
}

std::string read_table(ProfileTable const& t, Card const& card, KernelTables& tables) {
  if (t.name.starts_with("gemm ")) return read_into(gemm_table_from(t.text), card, tables.gemm);
  if (t.name.starts_with("attention_"))
    return read_into(attention_table_from(t.text), card, tables.attention);
  if (t.name.starts_with("moe ")) return read_into(moe_table_from(t.text), card, tables.moe);
  if (t.name == "passes") {
    auto passes = pass_table_from(t.text);
    if (!passes.value) return passes.error;
    tables.passes.push_back(std::move(*passes.value));
    return {};
  }
  if (t.name != "collectives") return "no such table";
  CollectiveCalibrationText c = collective_calibration_from_text(t.text);
  if (!c.value) return c.error;
  tables.collectives.push_back(std::move(*c.value));
  return {};
}

}  // namespace

Parsed<KernelTables> measured_tables_from(ProfileTexts const& texts) {
  KernelTables tables;
  std::set<std::string> known;
  for (ProfileText const& text : texts) {
    Gpu const* const named = find_gpu(builtin_catalog(), text.gpu);
    Card const card = named != nullptr ? std::make_shared<Gpu const>(*named) : nullptr;
    for (ProfileTable const& t : text.tables) {
      if (t.name == kEngines || !known.insert(t.name).second) continue;
      if (std::string const error = read_table(t, card, tables); !error.empty())
        return {std::nullopt, "table '" + t.name + "': " + error};
    }
  }
  return {std::move(tables), {}};
}

namespace {

using Members = std::map<std::string, Cited*>;

Members members_of(Profile& p) {
  return {{"gemm_bf16", &p.gemm_bf16},
          {"gemm_fp8", &p.gemm_fp8},
          {"memory_pass", &p.memory_pass},
          {"sustained_clock", &p.sustained_clock},
          {"pcie", &p.pcie},
          {"kernel_launch", &p.kernel_launch},
          {"engine_step", &p.engine_step},
          {"engine_per_sequence", &p.engine_per_sequence},
          {"attention_backward_over_forward", &p.attention_backward_over_forward}};
}

bool same_card(Gpu const& a, Gpu const& b) { return a.name == b.name && same_rates(a, b); }

bool is_kernel(std::string const& operation) {
  return operation.starts_with("gemm") || operation.starts_with("attention") || operation.starts_with("moe");
}

// Of the rows that the tables of the text were not fitted to, each operation with the weight of its rows.
void add_measured_band(ProfileText const& text, PriceNote& note) {
  double rows = 0;
  for (OperationNote const& o : text.operations) {
    if (!is_kernel(o.operation) || o.heldout_rows == 0) continue;
    double const more = o.heldout_rows;
    note.median = (note.median * rows + o.heldout_median * more) / (rows + more);
    note.p90 = (note.p90 * rows + o.heldout_p90 * more) / (rows + more);
    rows += more;
  }
  if (rows > 0) note.band = "rows held out of the fit";
}

// Operations of kernels that `text` has a table of.
std::set<std::string> kernels_of(ProfileText const& text) {
  std::set<std::string> operations;
  for (ProfileTable const& t : text.tables) {
    if (is_kernel(t.name)) operations.insert(t.name.substr(0, t.name.find(' ')));
  }
  return operations;
}

// The shares of products follow the card's own figures (datasheet.hpp), and its host is another one.
bool is_of_the_card(std::string const& number) { return number.starts_with("gemm_") || number == "pcie"; }

std::string add_engines(std::string const& text, Profile& p) {
  auto engines = engine_overheads_from_text(text);
  if (!engines.value) return "table 'engines': " + engines.error;
  for (EngineOverhead& o : *engines.value) {
    std::erase_if(p.engines, [&](EngineOverhead const& known) { return known.engine == o.engine; });
    p.engines.push_back(std::move(o));
  }
  return {};
}

// Over those that p has already.
std::string add_numbers_and_engines(ProfileText const& text, bool derived, Profile& p) {
  Members const members = members_of(p);
  for (auto const& [name, cited] : text.numbers) {
    auto const it = members.find(name);
    if (it == members.end()) return "'" + name + "' is no number of a profile";
    if (!derived) *it->second = cited;
    if (derived && !is_of_the_card(name)) *it->second = {cited.value, "as " + text.gpu + ": " + cited.source};
  }
  for (ProfileTable const& t : text.tables) {
    if (t.name != kEngines) continue;
    if (std::string error = add_engines(t.text, p); !error.empty()) return error;
  }
  return {};
}

bool is_derived(ProfileText const& text, Gpu const& gpu) {
  Gpu const* const measured_on = find_gpu(builtin_catalog(), text.gpu);
  return measured_on == nullptr || !same_card(*measured_on, gpu);
}

}  // namespace

PriceNote price_note(ProfileText const& text, Gpu const& gpu) {
  bool const derived = is_derived(text, gpu);
  PriceNote note;
  note.gpu = gpu.name;
  note.basis = derived ? PriceBasis::derived : PriceBasis::measured;
  note.from = text.gpu;
  note.stack = text.stack;
  note.date = text.date;
  add_measured_band(text, note);
  if (!derived) return note;
  note.median = std::max(note.median, kDerivedMedian);
  note.p90 = std::max(note.p90, kDerivedP90);
  note.band = kDerivedBand;
  return note;
}

PriceNote price_note(ProfileText const& own, ProfileText const& built_in, Gpu const& gpu) {
  PriceNote note = price_note(built_in, gpu);
  note.own = {own.name, own.gpu, own.stack, own.date, {}};
  for (ProfileTable const& t : own.tables) note.own.operations.push_back(t.name);
  for (auto const& [name, cited] : own.numbers) {
    if (!is_derived(own, gpu) || !is_of_the_card(name)) note.own.operations.push_back(name);
  }
  std::set<std::string> const kernels = kernels_of(own), wanted = kernels_of(built_in);
  if (kernels.empty()) return note;
  PriceNote const of_own = price_note(own, gpu);
  bool const all = std::includes(kernels.begin(), kernels.end(), wanted.begin(), wanted.end());
  if (all || of_own.p90 > note.p90) {
    note.median = of_own.median;
    note.p90 = of_own.p90;
    note.band = of_own.band;
  }
  return note;
}

Parsed<Profile> profile_for(ProfileText const& text, Gpu const& gpu) {
  return profile_for(ProfileTexts{text}, gpu);
}

Parsed<Profile> profile_for(ProfileTexts const& texts, Gpu const& gpu) {
  for (ProfileText const& text : texts) {
    if (find_gpu(builtin_catalog(), text.gpu) == nullptr)
      return {std::nullopt, "gpu '" + text.gpu + "' is not in the catalog"};
  }
  Profile p = datasheet_profile(gpu);
  p.note = price_note(texts.front(), gpu);
  p.name = is_derived(texts.front(), gpu) ? "derived from " + texts.front().name : texts.front().name;
  for (auto text = texts.rbegin(); text != texts.rend(); ++text) {
    if (std::string error = add_numbers_and_engines(*text, is_derived(*text, gpu), p); !error.empty())
      return {std::nullopt, std::move(error)};
  }
  Parsed<KernelTables> tables = measured_tables_from(texts);
  if (!tables.value) return {std::nullopt, std::move(tables.error)};
  // A calibration of one cluster knows nothing of others: the built-in one tells those.
  std::vector<CollectiveCalibration>& collectives = tables.value->collectives;
  if (collectives.empty()) collectives.emplace_back();
  collectives.front() = completed(std::move(collectives.front()), measured_collectives());
  p.kernels = std::make_shared<Kernels const>(std::move(*tables.value), gpu);
  return {std::move(p), {}};
}

}  // namespace rollcast
