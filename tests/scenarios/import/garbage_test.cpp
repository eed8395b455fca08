// Whatever the text, an import ends with a scenario or with problems in words, and never with a secret of the
// text.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "models/random.hpp"
#include "tests/scenarios/import/imported.hpp"

namespace rollcast {
namespace {

std::uint64_t draw(std::uint64_t index) { return random_bits({11, Purpose::jitter, 0, index}); }

std::string text_of(std::string const& name) {
  std::ifstream in(data_file(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void check(ImportedScenario const& r, std::string const& text) {
  EXPECT_NE(r.text.empty(), r.problems.empty()) << text;
  for (Problem const& p : r.problems) EXPECT_FALSE(p.what.empty() || p.remedy.empty()) << format(p) << text;
}

void import_text(FrameworkKind framework, std::string const& text) {
  check(import_command(framework, text, "", {}), text);
}

class Garbage : public testing::Test {
 protected:
  Garbage() : folder_(testing::TempDir() + "/import_garbage_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Garbage() override { std::filesystem::remove_all(folder_); }

  void import_as_file(FrameworkKind framework, std::string const& name, std::string const& text) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    check(import_file(framework, folder_ + "/" + name, {}), text);
  }

  std::string folder_;
};

TEST_F(Garbage, ScriptsCutAtEveryThirdByte) {
  for (auto const& [framework, name] :
       {std::pair{FrameworkKind::verl, "verl_fully_async.sh"},
        std::pair{FrameworkKind::openrlhf, "openrlhf_dpo.sh"},
        std::pair{FrameworkKind::slime, "slime_qwen3_30b.sh"}, std::pair{FrameworkKind::trl, "trl_dpo.sh"}}) {
    std::string const text = text_of(name);
    ASSERT_FALSE(text.empty());
    for (std::size_t n = 0; n < text.size(); n += 3)
      ASSERT_NO_THROW(import_text(framework, text.substr(0, n))) << n;
  }
}

TEST_F(Garbage, FlippedBytes) {
  for (std::uint64_t i = 0; i < 600; ++i) {
    bool const slime = i % 2 == 0;
    std::string text = text_of(slime ? "slime_qwen3_30b.sh" : "verl_fully_async.sh");
    for (std::uint64_t k = 0; k < 1 + draw(8 * i) % 4; ++k) {
      std::uint64_t const bits = draw(8 * i + 1 + k);
      text[bits % text.size()] ^= static_cast<char>(1U << ((bits >> 40U) % 8));
    }
    ASSERT_NO_THROW(import_text(slime ? FrameworkKind::slime : FrameworkKind::verl, text)) << text;
  }
}

TEST_F(Garbage, AwkwardPiecesEverywhere) {
  std::string const text =
      "python3 -m verl.trainer.main_ppo trainer.nnodes=1 actor_rollout_ref.model.path=Qwen/Qwen3-8B\n";
  for (std::string const piece :
       {"'",   "\"",        "`",   "$(",    "${",  "$((",   "(",     ")",     "<<E",   "<<<",
        "<",   ">",         "2>",  "\\",    "if ", "then ", "else ", "fi;",   "elif ", "[ ",
        "[[ ", "for x in ", "do ", "done;", "A=(", "A+=",   "${A[@", "${#A}", "${A:-", "$$",
        "$'",  "&&",        "||",  "~",     "=",   "+=",    "\t",    "\r",    "#"}) {
    for (std::size_t at = 0; at < text.size(); at += 2) {
      std::string mutant = text;
      mutant.insert(at, piece);
      ASSERT_NO_THROW(import_text(FrameworkKind::verl, mutant)) << mutant;
      ASSERT_NO_THROW(import_text(FrameworkKind::openrlhf, mutant)) << mutant;
    }
  }
}

TEST_F(Garbage, ConfigurationsCutAndTurnedAround) {
  std::string const text = text_of("nemo_rl_base.yaml");
  for (std::size_t n = 0; n < text.size(); n += 7) {
    ASSERT_NO_THROW(import_as_file(FrameworkKind::nemo_rl, "c.yaml", text.substr(0, n))) << n;
    ASSERT_NO_THROW(import_as_file(FrameworkKind::nemo_rl, "c.yaml", text.substr(n))) << n;
  }
  for (std::string const value :
       {"-1", "0", "1e30", "nan", "[]", "{}", "null", "'x'", "${policy}", "${mul:1}", "true"}) {
    for (std::size_t at = text.find(": "); at != std::string::npos; at = text.find(": ", at + 1)) {
      std::size_t const end = text.find('\n', at);
      std::string mutant = text;
      mutant.replace(at + 2, end - at - 2, value);
      ASSERT_NO_THROW(import_as_file(FrameworkKind::nemo_rl, "c.yaml", mutant)) << mutant;
    }
  }
}

TEST_F(Garbage, NumbersAtTheEdges) {
  for (std::string const v :
       {"0", "-1", "1", "1000000000", "999999999999999999999", "1e9", "0.5", "inf", "x", ""}) {
    for (FrameworkKind const framework : importable_frameworks()) {
      for (std::string const key :
           {"trainer.nnodes=", "trainer.n_gpus_per_node=", "data.train_batch_size=",
            "data.max_response_length=", "actor_rollout_ref.rollout.n=",
            "actor_rollout_ref.actor.ppo_mini_batch_size=", "--actor-num-nodes ", "--rollout-batch-size ",
            "--num-steps-per-rollout ", "--rollout_batch_size ", "--vllm_num_engines ",
            "--vllm_tensor_parallel_size ", "--num_generations ", "--per_device_train_batch_size ",
            "--num_processes ",
            "grpo.num_prompts_per_step=", "cluster.num_nodes=", "policy.max_total_sequence_length="}) {
        ASSERT_NO_THROW(import_text(
            framework,
            "python -m verl.trainer.main_ppo openrlhf.cli.train_ppo_ray train.py grpo.py run_grpo.py " + key +
                v +
                " actor_rollout_ref.model.path=a/qwen3-8b --pretrain qwen3-8b --hf-checkpoint qwen3-8b "
                "--model_name_or_path qwen3-8b policy.model_name=qwen3-8b"));
      }
    }
  }
}

TEST_F(Garbage, BinaryHugeAndEmptyFiles) {
  std::string binary;
  for (std::uint64_t i = 0; i < 4096; ++i) binary += static_cast<char>(draw(i));
  std::string flags = "python train.py";
  for (int i = 0; i < 60000; ++i) flags += " --f" + std::to_string(i) + " 1";
  std::string deep = "python train.py --a ";
  for (int i = 0; i < 20000; ++i) deep += "${A:-";
  std::string sums = "python train.py --a $((";
  for (int i = 0; i < 20000; ++i) sums += "(1+";
  for (FrameworkKind const framework : importable_frameworks()) {
    for (char const* name : {"c.sh", "c.yaml"}) {
      import_as_file(framework, name, "");
      import_as_file(framework, name, binary);
      import_as_file(framework, name, std::string(2'000'000, 'x'));
      import_as_file(framework, name, std::string(900'000, '\''));
      import_as_file(framework, name, flags);
      import_as_file(framework, name, deep);
      import_as_file(framework, name, sums);
    }
    check(import_file(framework, folder_ + "/absent.sh", {}), "absent");
    check(import_file(framework, folder_, {}), "folder");
  }
}

TEST_F(Garbage, SecretsAreNotRepeated) {
  for (std::string const quote : {"", "'"}) {
    std::string const text = "python3 -m verl.trainer.main_ppo trainer.nnodes=x" + quote +
                             " trainer.wandb_key=s3cr3tvalue --hf-token s3cr3tvalue "
                             "hf_s3cr3tvalue00 actor_rollout_ref.model.path=https://u:s3cr3tvalue@h/qwen3-8b";
    ImportedScenario const r = import_command(FrameworkKind::verl, text, "", {});
    EXPECT_FALSE(r.problems.empty());
    EXPECT_EQ(format(r.problems).find("s3cr3t"), std::string::npos) << format(r.problems);
    for (std::string const& line : r.unused) EXPECT_EQ(line.find("s3cr3t"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace rollcast
