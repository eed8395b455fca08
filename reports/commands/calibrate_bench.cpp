// rollcast calibrate bench --model NAME --out samples.csv
#include "reports/commands/calibrate_bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "calibrate/bench_collection.hpp"
#include "calibrate/bench_plan.hpp"
#include "calibrate/import/gpu_names.hpp"
#include "reports/child_process.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/output_file.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

struct BenchArguments {
  BenchRequest request;
  double seconds = 120;
  std::string programs;  // folder
  std::string out;
};

// The folder of this program.
fs::path own_folder() {
  std::error_code error;
  fs::path const self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : self.parent_path();
}

// One sentence that names the programs that are not there; empty when all are.
std::string missing(BenchPlan const& plan, fs::path const& folder) {
  std::string names;
  for (BenchProgram const& p : plan.programs) {
    if (::access((folder / p.name).c_str(), X_OK) != 0) names += (names.empty() ? "" : ", ") + p.name;
  }
  if (names.empty()) return {};
  return fmt::format(
      "'{}' holds no {}; the benchmark programs are built where CUDA and their libraries are found, "
      "--programs "
      "names their folder and --only takes some of them",
      shown(folder.string()), names);
}

// What the terminal shows while a program runs: its last row.
class Progress {
 public:
  explicit Progress(std::string const& program) : program_(program), live_(::isatty(STDERR_FILENO) != 0) {}

  void row(std::string_view line) {
    ++rows_;
    if (!live_) return;
    std::fprintf(stderr, "\r\033[K%s: %zu rows, %.*s", program_.c_str(), rows_,
                 static_cast<int>(std::min<std::size_t>(line.size(), 60)), line.data());
    std::fflush(stderr);
  }
  void end() const {
    if (live_ && rows_ > 0) std::fputs("\r\033[K", stderr);
    if (rows_ > 0) std::fprintf(stderr, "%s: %zu rows\n", program_.c_str(), rows_);
  }

 private:
  std::string program_;
  bool live_;
  std::size_t rows_ = 0;
};

class Bench {
 public:
  Bench(fs::path folder, std::string out) : folder_(std::move(folder)), out_(std::move(out)) {}

  // Exit code; everything was told on standard error.
  int run(BenchPlan const& plan) {
    int exit_code = 0;
    for (BenchProgram const& program : plan.programs) {
      int const code = run(program);
      if (code == kBadInput) return code;
      if (code != 0) exit_code = code;
    }
    if (collected_.rows() == 0) {
      print_error("nothing was measured");
      return kFailed;
    }
    if (std::string const error = write_file(out_, collected_.text()); !error.empty()) {
      print_error(error);
      return kBadInput;
    }
    if (std::string const gpu = collected_.value("gpu"); gpu_named_in(gpu).empty()) {
      print_error(
          fmt::format("the catalog has no '{}'; before the points are used, write a name of 'rollcast "
                      "catalog list gpus' in the line '# gpu:' of {}",
                      shown(gpu), out_));
      return kFailed;
    }
    return exit_code;
  }

 private:
  int run(BenchProgram const& program) {
    std::string error;
    Progress progress(program.name);
    collected_.begin_program();
    ChildEnd const end =
        run_child((folder_ / program.name).string(), program.arguments, [&](std::string_view line) {
          if (!collected_.add(line)) return true;
          progress.row(line);
          // A path that cannot be written shows before hours have passed.
          if (collected_.rows() == 1) error = keep();
          return error.empty();
        });
    progress.end();
    if (error.empty() && collected_.rows() > 0) error = keep();
    if (!error.empty() || !end.error.empty()) {
      print_error(!error.empty() ? error : fmt::format("cannot start {}: {}", program.name, end.error));
      return kBadInput;
    }
    if (end.exit_code == 0 || end.exit_code == kBadInput) return end.exit_code;  // 2: it said why
    std::string const how = end.signal != 0 ? fmt::format("was ended by signal {}", end.signal)
                                            : fmt::format("failed with exit code {}", end.exit_code);
    print_error(fmt::format("{} {}; its rows until then are kept", program.name, how));
    return kFailed;
  }

  // Standard output is written once, at the end.
  std::string keep() const { return out_ == "-" ? std::string() : write_file(out_, collected_.text()); }

  fs::path folder_;
  std::string out_;
  BenchCollection collected_;
};

int bench(BenchArguments a) {
  a.request.duration = Seconds(a.seconds);
  BenchPlan const plan = bench_plan(a.request);
  if (!plan.error.empty()) {
    print_error(plan.error);
    return kBadInput;
  }
  fs::path const folder = a.programs.empty() ? own_folder() : fs::path(a.programs);
  if (std::string const error = missing(plan, folder); !error.empty()) {
    print_error(error);
    return kBadInput;
  }
  for (std::string const& sentence : plan.left_out) std::fprintf(stderr, "%s\n", sentence.c_str());
  return Bench(folder, a.out).run(plan);
}

}  // namespace

void add_bench_command(CLI::App& calibrate, int& exit_code) {
  auto const a = std::make_shared<BenchArguments>();
  BenchRequest& r = a->request;
  CLI::App* const command = calibrate.add_subcommand("bench", "Measure the GPUs of this machine");
  command->add_option("--out", a->out, "Samples file to write (- standard output)")
      ->required()
      ->check(output_path())
      ->type_name("FILE");
  command->add_option("--model", r.model, "Model of the catalog whose sizes are measured")->type_name("NAME");
  command->add_option("--tp", r.tp, "Tensor-parallel ranks that cut them")
      ->check(whole_number(1, 4096))
      ->type_name("N");
  command->add_option("--ep", r.ep, "Expert-parallel ranks that cut them")
      ->check(whole_number(1, 4096))
      ->type_name("N");
  command->add_flag("--whole-experts", r.whole_experts, "Experts are not cut by --tp");
  command->add_option("--dtype", r.dtypes, "Types of matrix products (default: bf16,fp8)")
      ->delimiter(',')
      ->check(CLI::IsMember({"bf16", "fp8"}))
      ->type_name("TYPE");
  command->add_option("--only", r.only, "Some of gemm, attention, memory, copy, launch, nccl (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(bench_programs()))
      ->type_name("NAME");
  command->add_option("--device", r.device, "CUDA device number")
      ->check(whole_number(0, 1023))
      ->type_name("N");
  command->add_option("--gpu", r.gpu, "Catalog name of the GPU, where the driver's name does not tell it")
      ->type_name("NAME");
  auto* const sustained = command->add_flag("--sustained", r.sustained,
                                            "Run each of a few large sizes for minutes, without a pause");
  command->add_option("--seconds", a->seconds, "Length of a sustained row (default: 120)")
      ->check(CLI::Range(1.0, 36000.0))
      ->needs(sustained)
      ->type_name("N");
  command
      ->add_option("--programs", a->programs, "Folder of the benchmark programs (default: that of rollcast)")
      ->type_name("DIR");
  command->footer(
      "Example:\n  rollcast calibrate bench --model llama-3.1-8b --out samples.csv\n"
      "Collectives across nodes:\n  mpirun -n NODES --map-by node rollcast_bench_nccl --fabric NAME --output "
      "nccl.csv\n"
      "Exit code 1: a program failed; the rows until then are kept.");
  command->callback([a, &exit_code] { exit_code = bench(*a); });
}

}  // namespace rollcast
