#include "scenarios/schema.hpp"

#include <fmt/format.h>

#include <cctype>

#include "scenarios/preset.hpp"
#include "scenarios/text/scenario_fields.hpp"

namespace rollcast {
namespace {

std::string_view block_of(std::string_view key) { return key.substr(0, key.find('.')); }

// A key that is a whole block says so by having rows below it.
bool opens_block(std::vector<SchemaRow> const& rows, std::size_t i) {
  return i + 1 < rows.size() && rows[i].key.find('.') == std::string::npos &&
         block_of(rows[i + 1].key) == rows[i].key;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string sentence(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

std::string row_text(SchemaRow const& r) {
  std::string const fallback = r.required ? "required" : escaped(r.fallback);
  std::string const meaning =
      r.simulated ? escaped(r.meaning) : escaped(r.meaning) + " (**not simulated yet**)";
  return fmt::format("| `{}` | {} | {} | {} |\n", r.key, escaped(r.type), fallback, meaning);
}

constexpr std::string_view kHead =
    "| key | type | default | meaning |\n"
    "|---|---|---|---|\n";

// "grpo, fsdp2, colocated"
std::string case_text(AlgorithmKind a, TrainerKind t, PresetMode m) {
  return fmt::format("{}, {}, {}", name_of(a), name_of(t), name_of(m));
}

// What another algorithm, trainer or mode of the same framework sets otherwise.
std::string variant_text(std::vector<PresetValue> const& usual, FrameworkKind k, AlgorithmKind a,
                         TrainerKind t, PresetMode m) {
  std::string out = fmt::format("\n### {}: {}\n\n| key | value | source |\n|---|---|---|\n", name_of(k),
                                case_text(a, t, m));
  std::string unset;
  for (PresetDifference const& d : preset_differences(usual, framework_preset(k, a, t, m, true))) {
    if (d.source_b.empty()) {
      unset += fmt::format("{}`{}`", unset.empty() ? "" : ", ", d.key);
    } else {
      out += fmt::format("| `{}` | {} | {} |\n", d.key, d.value_b, d.source_b);
    }
  }
  return unset.empty() ? out : out + fmt::format("\nNot set: {}.\n", unset);
}

// Every preset of a framework: the usual case whole, the others where they differ from it.
std::string preset_text(FrameworkKind k) {
  auto const algorithms = preset_algorithms(k);
  auto const trainers = preset_trainers(k);
  auto const modes = preset_modes(k);
  if (algorithms.empty()) return {};
  AlgorithmKind const a = algorithms.front();
  TrainerKind const t = trainers.front();
  PresetMode const m = modes.front();
  auto const usual = framework_preset(k, a, t, m, true);
  std::string out = fmt::format(
      "\n## Preset {}\n\nWhat `framework: {}` sets where the file does not: {}. Below it, what other cases "
      "set otherwise.\n\n| key | value | source |\n|---|---|---|\n",
      name_of(k), name_of(k), case_text(a, t, m));
  for (PresetValue const& v : usual) out += fmt::format("| `{}` | {} | {} |\n", v.key, v.value, v.source);
  for (std::size_t i = 1; i < modes.size(); ++i) out += variant_text(usual, k, a, t, modes[i]);
  for (std::size_t i = 1; i < trainers.size(); ++i) out += variant_text(usual, k, a, trainers[i], m);
  for (std::size_t i = 1; i < algorithms.size(); ++i) out += variant_text(usual, k, algorithms[i], t, m);
  return out;
}

}  // namespace

std::string schema_markdown() {
  std::vector<SchemaRow> const& rows = scenario_keys();
  std::string out =
      "# Scenario keys\n\n"
      "A scenario is one YAML file: a map of the blocks below. Every problem of a file is reported in one "
      "go, with its\n"
      "place and what to write instead. Unknown and repeated keys, anchors, aliases, tags, nesting over 64 "
      "levels and files\n"
      "over 1 MiB are problems. A key marked *not simulated yet* is known and refused.\n\n"
      "Quantities need their unit: `80 GiB`, `400 Gb/s`, `0.5 s`, `989 TFLOP/s`. GB is 1e9 bytes, GiB is "
      "2^30, Gb is 1e9\n"
      "bits. `--set key.path=value` overrides any key; the value is YAML. Where a default names a framework "
      "preset,\n"
      "`rollcast run --explain` shows the value and its source. Every block that takes a name of the catalog "
      "also takes a\n"
      "map: `{base: name, ...}` changes some values of that entry.\n";
  std::string scalars;
  std::string blocks;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].key.find('.') != std::string::npos) {
      blocks += row_text(rows[i]);
      continue;
    }
    scalars += row_text(rows[i]);
    if (opens_block(rows, i))
      blocks += fmt::format("\n## {}\n\n{}\n\n{}", rows[i].key, sentence(rows[i].meaning), kHead);
  }
  std::string presets;
  for (FrameworkKind k : known_frameworks()) presets += preset_text(k);
  return out + fmt::format("\n## The file\n\n{}", kHead) + scalars + blocks + presets;
}

}  // namespace rollcast
