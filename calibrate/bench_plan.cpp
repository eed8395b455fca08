#include "calibrate/bench_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/import/gpu_names.hpp"
#include "models/catalog/catalog.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {
namespace {

using Arguments = std::vector<std::string>;

bool contains(std::vector<std::string> const& list, std::string const& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

void append(Arguments& to, Arguments const& more) { to.insert(to.end(), more.begin(), more.end()); }

std::string joined(std::vector<std::string> const& words) {
  std::string text;
  for (std::string const& w : words) text += (text.empty() ? "" : ",") + w;
  return text;
}

// Sizes of a sustained run: large enough to keep every unit busy.
Arguments sustained_sizes(std::string const& program) {
  if (program == "gemm") return {"--tokens", "8192"};
  if (program == "attention") return {"--batch", "32", "--length", "4096", "--context", "4096"};
  if (program == "memory") return {"--tokens", "16384"};
  if (program == "copy") return {"--bytes", "1073741824"};
  return {"--smallest", "1073741824", "--largest", "1073741824"};
}

Arguments arguments_of(std::string const& program, BenchRequest const& r) {
  Arguments a;
  if (program == "gemm" || program == "attention" || program == "memory") {
    append(a, {"--model", r.model, "--tp", std::to_string(r.tp)});
  }
  if (program == "gemm") {
    append(a, {"--ep", std::to_string(r.ep), "--gradients", "--dtype", joined(r.dtypes)});
    if (r.whole_experts) a.emplace_back("--whole-experts");
  }
  if (program != "nccl") append(a, {"--device", std::to_string(r.device)});
  if (!r.gpu.empty()) append(a, {"--gpu", r.gpu});
  if (r.sustained) {
    append(a, {"--sustained", "--seconds", fmt::format("{}", r.duration.value)});
    append(a, sustained_sizes(program));
  }
  return a;
}

std::string unknown(char const* option, std::string const& name, char const* kind) {
  return fmt::format("{}: the catalog has no '{}'; 'rollcast catalog list {}' shows the names", option,
                     shown(name), kind);
}

std::string error_of(BenchRequest const& r, Architecture const* model, bool needs_model) {
  if (!r.gpu.empty() && gpu_named_in(r.gpu).empty()) return unknown("--gpu", r.gpu, "gpus");
  if (!needs_model) return {};
  if (r.model.empty()) return "--model is needed for the sizes of gemm, attention and memory";
  if (model == nullptr) return unknown("--model", r.model, "models");
  if (model->heads % r.tp != 0) {
    return fmt::format("--tp {} does not divide the {} heads of {}", r.tp, model->heads, model->name);
  }
  return {};
}

}  // namespace

std::vector<std::string> const& bench_programs() {
  static std::vector<std::string> const names = {"gemm", "attention", "memory", "copy", "launch", "nccl"};
  return names;
}

BenchPlan bench_plan(BenchRequest const& r) {
  auto const wanted = [&](std::string const& program) { return r.only.empty() || contains(r.only, program); };
  BenchPlan plan;
  Architecture const* const model = find_architecture(builtin_catalog(), r.model);
  plan.error = error_of(r, model, wanted("gemm") || wanted("attention") || wanted("memory"));
  if (!plan.error.empty()) return plan;
  for (std::string const& program : bench_programs()) {
    if (!wanted(program)) continue;
    if (program == "attention" && model->mla) {
      plan.left_out.push_back(
          fmt::format("attention is left out: {} has latent attention, which is not measured", model->name));
    } else if (program == "launch" && r.sustained) {
      plan.left_out.emplace_back("launch is left out: a launch has no sustained time");
    } else {
      plan.programs.push_back({"rollcast_bench_" + program, arguments_of(program, r)});
    }
  }
  return plan;
}

}  // namespace rollcast
