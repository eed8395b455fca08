// rollcast calibrate import DIR|FILE... --out samples.csv
// rollcast calibrate fit --samples DIR|FILE... --out profile.yaml
// rollcast calibrate check --samples DIR [--profile FILE|GPU [--as GPU]] [--json F]
// rollcast calibrate bench: calibrate_bench.cpp
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "calibrate/check.hpp"
#include "calibrate/fit_profile.hpp"
#include "calibrate/import/folder.hpp"
#include "calibrate/profile_predictors.hpp"
#include "calibrate/sample_file.hpp"
#include "models/catalog/catalog.hpp"
#include "reports/calibrate_report.hpp"
#include "reports/commands/calibrate_bench.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/profile_input.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/output_file.hpp"

namespace rollcast {
namespace {

constexpr int kBadInput = 2;

int write(std::string const& path, std::string const& content) {
  std::string const error = write_file(path, content);
  if (error.empty()) return 0;
  print_error(error);
  return kBadInput;
}

// Everything below the paths. Problems go to standard error; the good rows are kept.
ImportResult read_all(std::vector<std::string> const& paths, ImportHints const& hints) {
  ImportResult r;
  for (std::string const& path : paths) import_path(path, hints, r);
  std::fputs(format(r.imported.problems).c_str(), stderr);
  return r;
}

// One sentence when a hint names nothing of the catalog; empty if all is well.
std::string hint_error(ImportHints const& h) {
  Catalog const& c = builtin_catalog();
  if (!h.gpu.empty() && find_gpu(c, h.gpu) == nullptr)
    return fmt::format("--gpu '{}' is not in the catalog; 'rollcast catalog list gpus' shows the names",
                       shown(h.gpu));
  if (!h.fabric.empty() && find_fabric(c, h.fabric) == nullptr)
    return fmt::format("--fabric '{}' is not in the catalog; 'rollcast catalog list fabrics' shows the names",
                       shown(h.fabric));
  return {};
}

void add_hints(CLI::App& command, ImportHints& h) {
  command.add_option("--gpu", h.gpu, "GPU of files that do not name theirs")->type_name("NAME");
  command.add_option("--fabric", h.fabric, "Fabric of nccl-tests output of several nodes")->type_name("NAME");
  command.add_option("--nodes", h.nodes, "Nodes of nccl-tests output that lists no ranks")
      ->check(whole_number(1, 100000))
      ->type_name("N");
  command.add_option("--collective", h.collective, "Collective of nccl-tests output that does not name it")
      ->check(CLI::IsMember(
          {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv"}))
      ->type_name("NAME");
}

struct ImportArguments {
  std::vector<std::string> paths;
  ImportHints hints;
  std::string out;
  std::string measured_by;
  std::string driver;
};

int import_samples(ImportArguments const& a) {
  if (std::string const error = hint_error(a.hints); !error.empty()) {
    print_error(error);
    return kBadInput;
  }
  ImportResult r = read_all(a.paths, a.hints);
  if (r.imported.samples.empty()) {
    print_error("there is no measured point in what was given");
    return kBadInput;
  }
  SampleFile file;
  if (!a.measured_by.empty()) file.header.emplace_back("measured_by", a.measured_by);
  if (!a.driver.empty()) file.header.emplace_back("driver", a.driver);
  for (std::string const& path : a.paths) file.header.emplace_back("imported_from", path);
  file.samples = std::move(r.imported.samples);
  if (int const code = write(a.out, sample_text(file)); code != 0) return code;
  r.imported.samples = std::move(file.samples);
  // The report goes where the points do not.
  std::fputs(import_summary(r).c_str(), a.out == "-" ? stderr : stdout);
  return r.imported.problems.empty() ? 0 : kBadInput;
}

struct CheckArguments {
  std::string profile;
  std::string as;
  std::vector<std::string> samples;
  ImportHints hints;
  std::string json;
  int held_ranks = 0;
  bool worst = false;
};

// Of the profile that was given, for the GPU `as` where that is not empty; else of each GPU of the samples
// the built-in ones, measured or derived.
std::optional<std::map<std::string, std::vector<Predictor>>> predictors_for(
    std::string const& path, std::string const& as, std::vector<Sample> const& samples) {
  std::map<std::string, std::vector<Predictor>> predictors;
  if (path.empty()) {
    for (Sample const& s : samples) {
      Gpu const* const gpu = find_gpu(builtin_catalog(), s.gpu);
      if (gpu != nullptr && !predictors.contains(s.gpu)) predictors[s.gpu] = built_in_predictors(*gpu);
    }
    return predictors;
  }
  auto const text = read_profile(path);
  if (!text) return std::nullopt;
  std::string const& name = as.empty() ? text->gpu : as;
  Gpu const* const gpu = find_gpu(builtin_catalog(), name);
  if (gpu == nullptr) {
    print_error("gpu '" + name + "' is not in the catalog");
    return std::nullopt;
  }
  Parsed<std::vector<Predictor>> list = profile_predictors(*text, *gpu);
  if (!list.value) {
    print_error(path + ": " + list.error);
    return std::nullopt;
  }
  predictors[name] = std::move(*list.value);
  return predictors;
}

int check_profile(CheckArguments const& a) {
  if (std::string const error = hint_error(a.hints); !error.empty()) {
    print_error(error);
    return kBadInput;
  }
  ImportResult const read = read_all(a.samples, a.hints);
  std::vector<Sample> const& samples = read.imported.samples;
  if (samples.empty()) {
    print_error("there is no measured point in what was given");
    return kBadInput;
  }
  CheckOptions options;
  options.split.held_ranks = a.held_ranks;
  auto const predictors = predictors_for(a.profile, a.as, samples);
  if (!predictors) return kBadInput;
  CheckResult const result = check_samples(*predictors, samples, options);
  int code = 0;
  if (!a.json.empty()) code = write(a.json, check_json(result));
  if (code == 0 && a.json != "-") code = write("-", check_text(result, a.worst));
  if (code != 0) return code;
  if (!result.exposed.empty()) return 1;
  return read.imported.problems.empty() ? 0 : kBadInput;
}

struct FitArguments {
  std::vector<std::string> samples;
  ImportHints hints;
  std::string gpu;
  std::string stack;
  std::string split = "train";
  std::string date;
  std::string out;
};

int fit(FitArguments const& a) {
  if (std::string const error = hint_error(a.hints); !error.empty()) {
    print_error(error);
    return kBadInput;
  }
  ImportResult const read = read_all(a.samples, a.hints);
  std::set<std::string> gpus;
  for (Sample const& s : read.imported.samples) gpus.insert(s.gpu);
  std::string const name = gpus.size() == 1 && a.gpu.empty() ? *gpus.begin() : a.gpu;
  if (!gpus.contains(name)) {
    std::vector<std::string_view> const measured(gpus.begin(), gpus.end());
    print_error(gpus.empty() ? "there is no measured point in what was given"
                             : "a profile is of one GPU; name it with --of: " + one_of(measured));
    return kBadInput;
  }
  ProfileText const profile = fit_profile(*find_gpu(builtin_catalog(), name), read.imported.samples,
                                          {a.split == "train", a.stack, a.date});
  if (int const code = write(a.out, to_text(profile)); code != 0) return code;
  std::string told;
  for (OperationNote const& o : profile.operations) {
    told += fmt::format("{:<28} {:<9} {:>7} rows", o.operation, o.dtype, o.rows);
    if (o.heldout_rows > 0)
      told += fmt::format(", held out {:>6}: median {:.1f} %, p90 {:.1f} %", o.heldout_rows,
                          100 * o.heldout_median, 100 * o.heldout_p90);
    if (o.basis == Basis::derived && o.rows > 0) told += ", no table: " + o.source;
    told += "\n";
  }
  std::fputs(told.c_str(), a.out == "-" ? stderr : stdout);
  return read.imported.problems.empty() ? 0 : kBadInput;
}

}  // namespace

void add_calibrate_command(CLI::App& app, int& exit_code) {
  CLI::App* const calibrate =
      app.add_subcommand("calibrate", "Measured points in, profiles out, and how well the two agree");
  calibrate->require_subcommand(1);

  auto const in = std::make_shared<ImportArguments>();
  CLI::App* const importing =
      calibrate->add_subcommand("import", "Collect measured points of tables and logs in one file");
  importing->add_option("paths", in->paths, "Files, or folders with all below them")
      ->required()
      ->type_name("DIR|FILE");
  importing->add_option("--out", in->out, "Samples file to write (- standard output)")
      ->required()
      ->type_name("FILE");
  importing->add_option("--measured-by", in->measured_by, "Who measured, for the file's header")
      ->type_name("TEXT");
  importing->add_option("--driver", in->driver, "GPU driver, for the file's header")->type_name("TEXT");
  add_hints(*importing, in->hints);
  importing->footer("Example:\n  rollcast calibrate import nccl.log --gpu h100-sxm --out samples.csv");
  importing->callback([in, &exit_code] { exit_code = import_samples(*in); });

  auto const ft = std::make_shared<FitArguments>();
  CLI::App* const fitting = calibrate->add_subcommand("fit", "Make a profile of measured points");
  fitting->add_option("--samples", ft->samples, "Files, or folders with all below them")
      ->required()
      ->type_name("DIR|FILE");
  fitting->add_option("--out", ft->out, "Profile to write (- standard output)")
      ->required()
      ->type_name("FILE");
  fitting->add_option("--of", ft->gpu, "GPU to fit, where several were measured")->type_name("NAME");
  fitting
      ->add_option("--stack", ft->stack, "Software to take where several were measured: vllm, sglang 0.5.10")
      ->type_name("TEXT");
  fitting->add_option("--split", ft->split, "train: leave held-out rows for the check; all: use every row")
      ->check(CLI::IsMember({"train", "all"}))
      ->capture_default_str();
  fitting->add_option("--date", ft->date, "When it was measured")->type_name("DATE");
  add_hints(*fitting, ft->hints);
  fitting->footer("Example:\n  rollcast calibrate fit --samples samples.csv --out h200.yaml");
  fitting->callback([ft, &exit_code] { exit_code = fit(*ft); });

  auto const ck = std::make_shared<CheckArguments>();
  CLI::App* const check = calibrate->add_subcommand("check", "Compare a profile with measured points");
  check->add_option("--samples", ck->samples, "Files, or folders with all below them")
      ->required()
      ->type_name("DIR|FILE");
  CLI::Option* const profile = check->add_option(
      "--profile", ck->profile,
      "Profile to check, a file or a GPU whose profile is built in; default: the built-in one of each GPU");
  profile->type_name("FILE|GPU");
  check->add_option("--as", ck->as, "Derive this GPU from the profile and check what comes of it")
      ->needs(profile)
      ->type_name("GPU");
  check->add_option("--json", ck->json, "Write the checks as JSON (- in place of the text)")
      ->type_name("FILE");
  check->add_option("--held-ranks", ck->held_ranks, "Tell collectives of so many ranks apart, as held out")
      ->check(whole_number(2, 100000))
      ->type_name("N");
  check->add_flag("--worst", ck->worst, "List the worst rows of each check");
  add_hints(*check, ck->hints);
  check->footer("Exit code 1: the profile holds rows that are held out.");
  check->callback([ck, &exit_code] { exit_code = check_profile(*ck); });

  add_bench_command(*calibrate, exit_code);
}  // namespace rollcast

}  // namespace rollcast
