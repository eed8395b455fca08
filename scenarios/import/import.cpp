#include "scenarios/import/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "models/catalog/catalog.hpp"
#include "scenarios/import/blocks.hpp"
#include "scenarios/import/configuration.hpp"
#include "scenarios/import/expansion.hpp"
#include "scenarios/import/importers.hpp"
#include "scenarios/import/named_files.hpp"
#include "scenarios/import/secrets.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kMostListed = 300;
constexpr std::string_view kCommandName = "--cmd";

struct Importer {
  FrameworkKind framework;
  void (*import)(Configuration& c);
  bool (*is_program)(std::string_view word);
  bool overrides;  // a.b=c rather than --a c
};

constexpr std::array<Importer, 5> kImporters = {{
    {FrameworkKind::verl, import_verl, is_verl_program, true},
    {FrameworkKind::openrlhf, import_openrlhf, is_openrlhf_program, false},
    {FrameworkKind::trl, import_trl, is_trl_program, false},
    {FrameworkKind::slime, import_slime, is_slime_program, false},
    {FrameworkKind::nemo_rl, import_nemo_rl, is_nemo_rl_program, true},
}};

Importer const& importer_of(FrameworkKind framework) {
  auto const it = std::find_if(kImporters.begin(), kImporters.end(),
                               [&](Importer const& i) { return i.framework == framework; });
  if (it == kImporters.end()) throw std::logic_error("no importer for that framework");
  return *it;
}

void import_with(Importer const& importer, Configuration& c) {
  importer.import(c);
  leave_out_rounds(c);
}

// A word of a sentence as it may stand in a comment.
std::string clean(std::string_view text) {
  std::string out = without_secrets(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20U || c == 0x7F) c = '?';
  }
  return out;
}

Problem clean(Problem p) {
  p.key = clean(p.key);
  p.what = clean(p.what);
  p.remedy = clean(p.remedy);
  p.source_line = without_secrets(p.source_line);
  return p;
}

// "run.sh:12"; of a command line nothing: it has one line.
std::string short_place(Document const& d, Mark mark) {
  std::string const& name = d.sources[static_cast<std::size_t>(mark.source)].name;
  if (name == kCommandName || mark.line == 0) return {};
  return fmt::format(" ({}:{})", shown(std::filesystem::path(name).filename().string()), mark.line);
}

void list_unused(Configuration const& c, Settings const& settings, std::vector<std::string>& out) {
  for (Setting const& s : settings.all()) {
    if (s.key.empty() || s.used) continue;
    out.push_back(clean(shown(s.written)) + short_place(c.document, s.mark));
  }
}

std::string comment(std::string const& title, std::vector<std::string> const& lines) {
  std::string out;
  if (lines.empty()) return out;
  out += "# " + title + "\n";
  for (std::size_t i = 0; i < std::min(lines.size(), kMostListed); ++i) out += "#   " + lines[i] + "\n";
  if (lines.size() > kMostListed) out += fmt::format("#   and {} more\n", lines.size() - kMostListed);
  return out;
}

ImportedScenario finish(Configuration& c) {
  drop_contradictions(c);
  ImportedScenario result;
  std::vector<Problem> problems = c.document.problems;
  problems.insert(problems.end(), c.problems.begin(), c.problems.end());
  if (problems.size() > kMostProblems) problems.resize(kMostProblems);
  for (Problem& p : problems) {
    bool const told = std::any_of(result.problems.begin(), result.problems.end(), [&](Problem const& q) {
      return q.file == p.file && q.line == p.line && q.column == p.column && q.key == p.key;
    });
    if (!told) result.problems.push_back(clean(std::move(p)));
  }
  for (std::string const& a : c.assumed) {
    std::string line = clean(a);
    if (std::find(result.assumed.begin(), result.assumed.end(), line) == result.assumed.end())
      result.assumed.push_back(std::move(line));
  }
  list_unused(c, c.settings, result.unused);
  list_unused(c, c.launcher, result.unused);
  if (!result.problems.empty()) return result;
  std::string const name = std::filesystem::path(c.document.sources.front().name).filename().string();
  std::string const what = name == kCommandName ? "a command" : clean(name);
  result.text = fmt::format("# From {} of {}, by rollcast import.\n", what, name_of(c.framework));
  result.text += comment("Assumed:", result.assumed);
  result.text += comment("Not used:", result.unused);
  result.text += without_secrets(c.draft.text());
  ScenarioResult const read =
      read_scenario_text(result.text, std::filesystem::path(name).stem().string() + ".yaml", {});
  result.doubts = read.scenario ? check_simulated(*read.scenario) : read.problems;
  return result;
}

bool check_options(Configuration& c) {
  if (c.options.node.empty() || find_node(builtin_catalog(), c.options.node) != nullptr) return true;
  std::vector<std::string_view> names;
  for (Node const& n : builtin_catalog().nodes) names.emplace_back(n.name);
  std::string_view const near = nearest(c.options.node, names);
  c.problems.push_back(
      {"--node " + shown(c.options.node), 0, 0, "", "there is no such node in the catalog",
       near.empty() ? "'rollcast catalog list nodes' shows all names" : fmt::format("did you mean {}?", near),
       ""});
  return false;
}

// The launch command of a script, and the index of its program among the words; the longest where several
// start it.
struct Launch {
  Command const* command = nullptr;
  std::size_t program = 0;
};

Launch launch_of(std::vector<Command> const& commands, Importer const& importer) {
  Launch found;
  for (Command const& c : commands) {
    auto const it = std::find_if(c.words.begin(), c.words.end(), [&](Word const& w) {
      return !w.text.starts_with("-") && importer.is_program(w.text);
    });
    if (it == c.words.end()) continue;
    if (found.command == nullptr || c.words.size() > found.command->words.size())
      found = {&c, static_cast<std::size_t>(it - c.words.begin())};
  }
  return found;
}

// A command that is nothing but flags or overrides.
bool holds_settings(Command const& c) {
  return std::any_of(c.words.begin(), c.words.end(), [](Word const& w) {
    return w.text.starts_with("--") || w.text.find('=') != std::string::npos;
  });
}

// Files that the command line names come first, so that the command line has the last word.
void add_named_files(Configuration& c, Settings const& given) {
  auto const value = [](Settings const& s, std::string_view key) {
    Setting const* found = s.find(key);
    return found == nullptr || found->values.empty() || !found->unset.empty() ? std::string()
                                                                              : found->values.front();
  };
  auto const mark = [&](Settings& s, std::string_view key) {
    if (Setting* found = s.find(key)) found->used = true;
  };
  Settings files;
  if (c.framework == FrameworkKind::nemo_rl || c.framework == FrameworkKind::trl) {
    Parents const parents = c.framework == FrameworkKind::nemo_rl ? Parents::followed : Parents::ignored;
    if (std::string const name = value(given, "config"); !name.empty()) add_file(c, name, parents, files);
  }
  if (c.framework == FrameworkKind::verl) {
    std::string const name = value(given, "config_name");
    std::string const folder = value(given, "config_path");
    std::filesystem::path const path = std::filesystem::path(folder) / (name + ".yaml");
    std::error_code error;
    bool const there = std::filesystem::is_regular_file(std::filesystem::path(c.folder) / path, error);
    if (!name.empty() && there) add_file(c, path.string(), Parents::ignored, files);
  }
  files.add_all(given);
  c.settings = std::move(files);
  mark(c.settings, "config");
  mark(c.settings, "config_path");
  if (c.framework != FrameworkKind::trl) return;
  Settings launcher;
  if (std::string const name = value(c.launcher, "config_file"); !name.empty()) {
    add_file(c, name, Parents::ignored, launcher);
  }
  launcher.add_all(c.launcher);
  c.launcher = std::move(launcher);
}

void read_command(Configuration& c, Importer const& importer, Launch const& launch) {
  std::vector<Word> const& words = launch.command->words;
  c.environment = launch.command->environment;
  Settings given;
  std::size_t const from = c.entry.empty() ? 0 : launch.program + 1;
  add_flags(words, from, given);
  if (importer.overrides) add_overrides(words, from, given);
  std::vector<Word> const before(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(launch.program));
  add_flags(before, 0, c.launcher);
  c.launcher.erase("m");  // of python -m
  for (Word const& w : words) {
    if (w.text.empty() && w.unset.ends_with(kAll))
      c.assume(fmt::format("${{{}}} is empty", shown(w.unset)), "nothing in the script sets it");
  }
  add_named_files(c, given);
}

void run(Configuration& c, Importer const& importer, Script const& script, bool whole_command) {
  c.commands = script.commands;
  for (std::string const& remark : script.remarks) c.assumed.push_back(remark);
  if (!c.document.problems.empty()) return;
  Launch launch = launch_of(c.commands, importer);
  if (launch.command != nullptr) {
    c.entry = launch.command->words[launch.program].text;
  } else if (whole_command && !c.commands.empty() && holds_settings(c.commands.front())) {
    launch = {&c.commands.front(), 0};
  } else {
    c.problem("", fmt::format("no command here starts {}", name_of(c.framework)),
              "name the script that launches the training, or its configuration (.yaml)");
    return;
  }
  read_command(c, importer, launch);
  import_with(importer, c);
}

bool is_yaml(std::string const& path) {
  std::string const extension = std::filesystem::path(path).extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

}  // namespace

std::vector<FrameworkKind> const& importable_frameworks() {
  static std::vector<FrameworkKind> const all = [] {
    std::vector<FrameworkKind> v;
    for (Importer const& i : kImporters) v.push_back(i.framework);
    return v;
  }();
  return all;
}

ImportedScenario import_file(FrameworkKind framework, std::string const& path, ImportOptions const& options) {
  Importer const& importer = importer_of(framework);
  std::string const folder = std::filesystem::path(path).parent_path().string();
  Document d = is_yaml(path) ? read_document(path, "write the keys of the framework's configuration")
                             : read_lines(path);
  Configuration c(d, framework, options, folder);
  if (!check_options(c) || !d.problems.empty()) return finish(c);
  if (is_yaml(path)) {
    Parents const parents = framework == FrameworkKind::nemo_rl ? Parents::followed : Parents::ignored;
    Value const root = d.root;
    add_document(c, root, folder, parents, 0, c.settings);
    if (c.problems.empty()) import_with(importer, c);
  } else {
    run(c, importer, read_script(d, {folder, options.defines}), false);
  }
  return finish(c);
}

ImportedScenario import_command(FrameworkKind framework, std::string const& command,
                                std::string const& folder, ImportOptions const& options) {
  Importer const& importer = importer_of(framework);
  Document d = parse_lines(command, std::string(kCommandName));
  Configuration c(d, framework, options, folder);
  if (check_options(c) && d.problems.empty())
    run(c, importer, read_script(d, {folder, options.defines}), true);
  return finish(c);
}

}  // namespace rollcast
