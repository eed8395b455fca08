// rollcast blame, with files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/commands/commands.hpp"
#include "reports/flight_record_json.hpp"
#include "reports/output_file.hpp"
#include "tests/models/flight_fixtures.hpp"
#include "tests/reports/run_command.hpp"
#include "tests/reports/temporary_folder.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class BlameCommand : public testing::Test {
 protected:
  std::string put(std::string const& name, std::string const& content) const {
    std::string const path = folder_.path(name);
    EXPECT_EQ(write_file(path, content), "");
    return path;
  }
  CommandRun run(std::vector<std::string> words) const {
    words.insert(words.begin(), "blame");
    return run_command(add_blame_command, words);
  }

  TemporaryFolder folder_;
};

FlightRun stuck_run() {
  FlightRun run(3);
  run.group("0", "default_pg", {0, 1, 2});
  for (int const r : {0, 2}) run.enqueue(r, "0", "all_reduce");
  return run;
}

TEST_F(BlameCommand, PicklesAndJsonAndALogTogether) {
  FlightRun const r = stuck_run();
  std::vector<std::string> const files = {
      put("nccl_trace_rank_0", flight_record_pickle(r.dumps()[0])),
      put("nccl_trace_rank_1.json", flight_record_json(r.dumps()[1])),
      put("nccl_trace_rank_2.json", flight_record_json(r.dumps()[2])),
  };
  CommandRun const dumps = run(files);
  EXPECT_EQ(dumps.exit_code, 0) << dumps.err;
  EXPECT_THAT(
      dumps.out,
      StartsWith(
          "Rank 1 has not enqueued all_reduce seq 1 of group 0 (default_pg), for which ranks 0, 2 wait.\n"));
  EXPECT_EQ(run(files).out, dumps.out);

  std::vector<std::string> with_log = files;
  with_log.push_back(
      put("train.log", "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n"));
  CommandRun const both = run(with_log);
  EXPECT_THAT(both.out, StartsWith("Rank 1 ran out of memory"));
  EXPECT_THAT(both.out, HasSubstr("train.log:1"));
}

TEST_F(BlameCommand, Json) {
  FlightRun const r = stuck_run();
  std::string const a = put("r0", flight_record_pickle(r.dumps()[0]));
  std::string const b = put("r1", flight_record_pickle(r.dumps()[1]));
  std::string const c = put("r2", flight_record_pickle(r.dumps()[2]));
  CommandRun const out = run({a, b, c, "--json", "-"});
  EXPECT_EQ(out.exit_code, 0);
  nlohmann::json const j = nlohmann::json::parse(out.out);
  EXPECT_EQ(j["kind"], "missing_rank");
  EXPECT_EQ(j["culprits"], nlohmann::json({1}));
  EXPECT_EQ(j["seq"], 1);
  EXPECT_EQ(j["ranks"][1]["last_enqueued"], -1);
}

TEST_F(BlameCommand, EveryProblemOfEveryFileIsTold) {
  FlightRun const r = stuck_run();
  std::string const good = flight_record_pickle(r.dumps()[0]);
  CommandRun const out = run({put("rank_0", good), put("again_0", good), put("rank_2", "\x80\x02 nonsense"),
                              put("rank_3.json", "{\"entries\": 1}"), (folder_.root() / "absent").string(),
                              folder_.root().string()});
  EXPECT_EQ(out.exit_code, 2);
  EXPECT_EQ(out.out, "");
  EXPECT_THAT(out.err, HasSubstr("again_0: rank 0 has a dump already"));
  EXPECT_THAT(out.err, HasSubstr("rank_2: byte 3: the pickle asks for operation 0x20"));
  EXPECT_THAT(out.err, HasSubstr("rank_3.json: /version: is missing"));
  EXPECT_THAT(out.err, HasSubstr("absent' cannot be read"));
  EXPECT_THAT(out.err, HasSubstr("'" + folder_.root().string() + "' cannot be read"));
}

TEST_F(BlameCommand, WillNotWriteOverWhatItReads) {
  std::string const log = put("train.log", "x\n");
  EXPECT_EQ(run({log, "--json", log}).exit_code, 2);
}

}  // namespace
}  // namespace rollcast
