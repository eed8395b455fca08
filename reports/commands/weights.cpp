#include <fmt/format.h>

#include <memory>
#include <string>

#include "models/pools.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/resume_report.hpp"
#include "reports/weights_report.hpp"

namespace rollcast {
namespace {

struct Arguments {
  ScenarioArguments scenario;
  std::string json;
  std::string tensor;
  std::string scales;
  std::string resume;
  bool flat_parameters = false;
};

// One sentence for what this job has no use for; empty where there is none.
std::string conflict_with(Job const& job, Arguments const& a) {
  if (job.serve) return "nothing is trained: no weights are sent to the engines that serve";
  if (!has_rollout(job.algorithm))
    return fmt::format("{} trains on a data set: there are no rollout engines to send weights to",
                       name_of(job.algorithm.kind));
  if (a.flat_parameters && job.train.kind != TrainerKind::fsdp2)
    return fmt::format("--flat-parameters is FSDP's, and the trainer is {}", name_of(job.train.kind));
  Parallel const& cut = job.train.parallel;
  if (a.flat_parameters && cut.tp * cut.pp * cut.ep * cut.expert_tp() > 1)
    return "--flat-parameters goes with tp, pp and ep of 1";
  int const stage = on_pool(job, pool_of(job, Role::rollout)).cluster.gpus() / job.rollout.parallel.pp;
  if (job.model.moe && stage % job.rollout.parallel.ep != 0)
    return fmt::format("rollout.parallel.ep {} does not divide the {} ranks of a stage of all engines",
                       job.rollout.parallel.ep, stage);
  if (!a.scales.empty() && job.rollout.weights != DType::fp8)
    return fmt::format("--fp8-scales is of engines in fp8, and rollout.weights is {}",
                       name_of(job.rollout.weights));
  return {};
}

int resume(Arguments const& arguments, OutputOptions const& outputs, Scenario const& writer) {
  if (!arguments.tensor.empty() || !arguments.scales.empty())
    return refuse("--tensor and --fp8-scales are of a weight sync, not of --resume");
  if (arguments.flat_parameters)
    return refuse("--resume needs no --flat-parameters: FSDP1, too, saves rows of each tensor");
  int exit_code = 0;
  auto const reader =
      read_scenario({arguments.resume, {{}, arguments.scenario.options.catalog_files}}, exit_code);
  if (!reader) return exit_code;
  std::string const conflict =
      models_differ(for_role(writer.job, Role::actor), for_role(reader->job, Role::actor));
  if (!conflict.empty()) return refuse(conflict);
  ResumeForecast const f = forecast_resume(writer, *reader);
  return write_report(outputs, {[&] { return resume_text(f); }, [&] { return resume_json(f); }});
}

int weights(Arguments const& arguments) {
  OutputOptions outputs;
  outputs.json = arguments.json;
  std::vector<std::string> inputs = inputs_of(arguments.scenario);
  if (!arguments.resume.empty()) inputs.push_back(arguments.resume);
  if (std::string const conflict = output_conflict(outputs, inputs); !conflict.empty())
    return refuse(conflict);
  int exit_code = 0;
  auto const scenario = read_scenario(arguments.scenario, exit_code);
  if (!scenario) return exit_code;
  if (!arguments.resume.empty()) return resume(arguments, outputs, *scenario);
  if (std::string const conflict = conflict_with(scenario->job, arguments); !conflict.empty())
    return refuse(conflict);
  WeightsOptions options;
  options.map.flat_parameters = arguments.flat_parameters;
  if (arguments.scales == "tensor") options.map.scaling = Fp8Scaling::tensor;
  options.tensor = arguments.tensor;
  WeightsResult const result = forecast_weights(*scenario, options);
  if (!result.forecast) return refuse(result.error);
  WeightsForecast const& f = *result.forecast;
  return write_report(outputs, {[&] { return weights_text(f); }, [&] { return weights_json(f); }});
}

}  // namespace

void add_weights_command(CLI::App& app, int& exit_code) {
  auto const arguments = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand(
      "weights", "Which weights go from which trainer rank to which rollout rank in a weight sync");
  add_scenario_arguments(*command, arguments->scenario);
  command
      ->add_option(
          "--tensor", arguments->tensor,
          "Tell all copies of the tensors with this in their name (down_proj, layers.3.mlp, lm_head); "
          "default: those that the engine fuses")
      ->type_name("NAME");
  add_output_file(*command, "--json", arguments->json,
                  "Write the map's totals and the detail as JSON (- in place of the text)");
  command
      ->add_option("--fp8-scales", arguments->scales,
                   "Of engines in fp8: a scale per 128 x 128 block (default) or per tensor")
      ->check(CLI::IsMember({"block", "tensor"}))
      ->type_name("KIND");
  command->add_flag(
      "--flat-parameters", arguments->flat_parameters,
      "FSDP keeps one flat parameter per layer (FSDP1) in place of rows of each tensor (FSDP2)");
  command
      ->add_option("--resume", arguments->resume,
                   "In place of a sync: what the trainer of this scenario reads of a checkpoint that FILE's "
                   "trainer wrote (--set is of FILE; FILE itself: the same layout)")
      ->type_name("OTHER");
  command->footer(
      "Examples:\n  rollcast weights before.yaml --resume after.yaml\n  rollcast weights grpo.yaml --set "
      "rollout.parallel.tp=4 --tensor layers.0.self_attn");
  command->callback([arguments, &exit_code] { exit_code = weights(*arguments); });
}

}  // namespace rollcast
