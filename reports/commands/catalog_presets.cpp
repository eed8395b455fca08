#include "reports/commands/catalog_presets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "scenarios/preset.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kColumn = 30;  // of the first framework's values; longer ones have lines of their own

struct Options {
  std::string a;
  std::string b;
  std::string algorithm;
  std::string trainer;
  std::string mode;
};

// Numbers sources in the order of their first use.
class Sources {
 public:
  std::string mark(std::string_view source) {
    auto const found = std::find(used_.begin(), used_.end(), source);
    auto const at = found - used_.begin();
    if (found == used_.end()) used_.push_back(source);
    return fmt::format("[{}]", at + 1);
  }
  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < used_.size(); ++i) out += fmt::format("  [{}] {}\n", i + 1, used_[i]);
    return out;
  }

 private:
  std::vector<std::string_view> used_;
};

template <class E>
std::string names(std::vector<E> const& all) {
  std::string out;
  for (E const e : all) out += fmt::format("{}{}", out.empty() ? "" : ", ", name_of(e));
  return out;
}

// Frameworks that set anything.
std::vector<FrameworkKind> with_presets() {
  std::vector<FrameworkKind> out;
  for (FrameworkKind const f : known_frameworks()) {
    if (!preset_algorithms(f).empty()) out.push_back(f);
  }
  return out;
}

template <class E>
std::optional<E> named(std::vector<E> const& all, std::string_view name) {
  auto const found = std::find_if(all.begin(), all.end(), [&](E e) { return name_of(e) == name; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

struct Choice {
  FrameworkKind framework = FrameworkKind::none;
  AlgorithmKind algorithm = AlgorithmKind::grpo;
  TrainerKind trainer = TrainerKind::megatron;
  PresetMode mode = PresetMode::colocated;

  std::vector<PresetValue> table() const {
    return framework_preset(framework, algorithm, trainer, mode, true);
  }
  std::string text() const {
    return fmt::format("{} ({}, {}, {})", name_of(framework), name_of(algorithm), name_of(trainer),
                       name_of(mode));
  }
};

// What was asked for, else the first that both have, else the own first one. error: it has no such thing.
template <class E>
E chosen(FrameworkKind f, std::string const& asked, std::vector<E> const& own, std::vector<E> const& first,
         std::vector<E> const& second, std::string& error) {
  if (!asked.empty()) {
    auto const e = named(own, asked);
    if (!e && error.empty())
      error = fmt::format("{} has no preset for '{}'; it has {}", name_of(f), shown(asked), names(own));
    return e.value_or(own.front());
  }
  for (E const e : first) {
    if (std::find(second.begin(), second.end(), e) != second.end()) return e;
  }
  return own.front();
}

Choice choice_of(FrameworkKind f, FrameworkKind a, FrameworkKind b, Options const& o, std::string& error) {
  return {f, chosen(f, o.algorithm, preset_algorithms(f), preset_algorithms(a), preset_algorithms(b), error),
          chosen(f, o.trainer, preset_trainers(f), preset_trainers(a), preset_trainers(b), error),
          chosen(f, o.mode, preset_modes(f), preset_modes(a), preset_modes(b), error)};
}

std::string list_text() {
  std::string out = "presets: what a framework sets where a scenario does not\n";
  for (FrameworkKind const f : with_presets()) {
    out += fmt::format("  {:<16}{:<24}{:<24}{}\n", name_of(f), names(preset_algorithms(f)),
                       names(preset_trainers(f)), names(preset_modes(f)));
  }
  return out;
}

std::string table_text(Choice const& c) {
  Sources sources;
  std::string out = "preset " + c.text() + "\n";
  for (PresetValue const& v : c.table())
    out += fmt::format("  {:<40} {:<28} {}\n", v.key, v.value, sources.mark(v.source));
  return out + sources.text();
}

std::string differences_text(Choice const& a, Choice const& b) {
  Sources sources;
  auto const cell = [&](std::string_view value, std::string_view source) {
    return source.empty() ? std::string("-") : fmt::format("{} {}", value, sources.mark(source));
  };
  std::string out = fmt::format("{} against {}\n", a.text(), b.text());
  auto const differences = preset_differences(a.table(), b.table());
  if (differences.empty()) return out + "  They set the same.\n";
  for (PresetDifference const& d : differences) {
    // One after the other: marks count in the order of reading.
    std::string const first = cell(d.value_a, d.source_a);
    std::string const second = cell(d.value_b, d.source_b);
    out += first.size() <= kColumn ? fmt::format("  {:<40} {:<{}} {}\n", d.key, first, kColumn, second)
                                   : fmt::format("  {}\n{:>8}{}\n{:>8}{}\n", d.key, "", first, "", second);
  }
  return out + "  -: left to the default of the key (scenarios/SCHEMA.md)\n" + sources.text();
}

int show_presets(Options const& o) {
  if (o.a.empty()) return print(list_text());
  std::vector<FrameworkKind> of_names;
  for (std::string const& name : {o.a, o.b.empty() ? o.a : o.b}) {
    auto const f = named(with_presets(), name);
    if (!f)
      return refuse(
          fmt::format("no preset is called '{}'; there are {}", shown(name), names(with_presets())));
    of_names.push_back(*f);
  }
  std::string error;
  Choice const a = choice_of(of_names[0], of_names[0], of_names[1], o, error);
  Choice const b = choice_of(of_names[1], of_names[0], of_names[1], o, error);
  if (!error.empty()) return refuse(error);
  return print(o.b.empty() ? table_text(a) : differences_text(a, b));
}

}  // namespace

void add_presets_command(CLI::App& catalog, int& exit_code) {
  auto const options = std::make_shared<Options>();
  CLI::App* const command =
      catalog.add_subcommand("presets", "Show what a framework sets, or where two frameworks differ");
  command->add_option("A", options->a, "name of a framework; without it all are listed");
  command->add_option("B", options->b, "another one, to lay beside the first");
  command->add_option("--algorithm", options->algorithm, "sft, dpo, ppo or grpo");
  command->add_option("--trainer", options->trainer, "fsdp2, megatron or deepspeed");
  command->add_option("--mode", options->mode, "colocated, separate, one_step_off or async");
  command->footer("Example:\n  rollcast catalog presets verl nemo-rl --algorithm grpo");
  command->callback([options, &exit_code] { exit_code = show_presets(*options); });
}

}  // namespace rollcast
