// Lines in the forms of several versions of PyTorch, torchrun and Ray. Numbers of the incidents are those
// reported.
#include "reports/incident_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "models/blame.hpp"
#include "reports/blame_report.hpp"

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

IncidentFact only(std::string const& log) {
  std::vector<IncidentFact> const facts = read_incident_log(log, "a.log");
  EXPECT_THAT(facts, SizeIs(1)) << log;
  return facts.empty() ? IncidentFact() : facts.front();
}

std::string watchdog(int rank, std::string const& stamp, int file_line, std::string const& work, int ran_ms) {
  std::string const r = std::to_string(rank);
  return "[rank" + r + "]:[E" + stamp + " ProcessGroupNCCL.cpp:" + std::to_string(file_line) + "] [Rank " +
         r + "] Watchdog caught collective operation timeout: WorkNCCL(" + work + ") ran for " +
         std::to_string(ran_ms) + " milliseconds before timing out.\n";
}

TEST(IncidentLog, AWatchdogLine) {
  IncidentFact const f = only(watchdog(
      3, "1112 10:42:28.123456789", 607,
      "SeqNum=4486, OpType=ALLTOALL, NumelIn=46684160, NumelOut=46684160, Timeout(ms)=600000", 600013));
  EXPECT_EQ(f.kind, FactKind::watchdog_timeout);
  EXPECT_EQ(f.rank, 3);
  EXPECT_EQ(f.rank_source, RankSource::world);
  EXPECT_EQ(f.op, "ALLTOALL");
  EXPECT_EQ(f.seq, 4486);
  EXPECT_EQ(f.numel_in, 46684160);
  EXPECT_EQ(f.timeout_ms, 600000);
  EXPECT_EQ(f.ran_ms, 600013);
  // 12 November is day 316 of a year of 366 days, counted from 0: 305 + 11.
  EXPECT_NEAR(f.time.value_or(seconds(0)).value, 316 * 86400.0 + 10 * 3600 + 42 * 60 + 28.123456789, 1e-6);
  EXPECT_EQ(clock_text(f.time), "11-12 10:42:28.123");
  EXPECT_EQ(f.file, "a.log");
  EXPECT_EQ(f.line, 1);
  EXPECT_THAT(f.text, testing::StartsWith("[Rank 3] Watchdog caught"));
}

TEST(IncidentLog, OlderForms) {
  // 2024: no time. 2022: no rank in front, no sizes.
  IncidentFact f = only(
      "[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=21, "
      "OpType=ALLREDUCE, NumelIn=3, NumelOut=3, Timeout(ms)=600000) ran for 600036 milliseconds before "
      "timing out.");
  EXPECT_EQ(f.seq, 21);
  EXPECT_FALSE(f.time);
  f = only(
      "[E ProcessGroupNCCL.cpp:464] [Rank 5] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=1, "
      "OpType=ALLREDUCE, Timeout(ms)=10000) ran for 10917 milliseconds before timing out.");
  EXPECT_EQ(f.rank, 5);
  EXPECT_EQ(f.rank_source, RankSource::group);
  EXPECT_EQ(f.numel_in, -1);
}

TEST(IncidentLog, StatusLinesOfFourVersions) {
  for (std::string const middle : {"[PG ID 2 PG GUID 9(tp) Rank 1] Exception (either an error or timeout) "
                                   "detected by watchdog at work: 78, last enqueued "
                                   "NCCL work: 79, last completed NCCL work: 77.",
                                   "[PG ID 2 PG GUID 9(tp) Rank 1]  failure detected by watchdog at work "
                                   "sequence id: 78 PG status: last enqueued work: 79, "
                                   "last completed work: 77",
                                   "[PG 9 (tp) Rank 1] Timeout at NCCL work: 78, last enqueued NCCL work: "
                                   "79, last completed NCCL work: 77."}) {
    IncidentFact const f = only("[rank5]:[E810 03:04:11.063313477 ProcessGroupNCCL.cpp:2241] " + middle);
    EXPECT_EQ(f.kind, FactKind::watchdog_status) << middle;
    EXPECT_EQ(f.rank, 5) << middle;  // not 1, its number in the group
    EXPECT_EQ(f.group, "9") << middle;
    EXPECT_EQ(f.group_desc, "tp") << middle;
    EXPECT_EQ(f.seq, 78) << middle;
    EXPECT_EQ(f.last_enqueued, 79) << middle;
    EXPECT_EQ(f.last_completed, 77) << middle;
  }
  EXPECT_EQ(only("[rank1]:[E1218 20:27:21.4 P.cpp:1] [PG ID 1 PG GUID 1 Rank 1]  failure detected by "
                 "watchdog at work "
                 "sequence id: 1 PG status: last enqueued work: 547, last completed work: -1")
                .last_completed,
            -1);
}

TEST(IncidentLog, DumpSignalsAndTheMonitor) {
  IncidentFact f = only(
      "[rank5]:[E723 01:58:45.667329643 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank 5] "
      "Received a dump signal "
      "due to a collective timeout from  rank 2 and we will try our best to dump the debug info. Last "
      "enqueued NCCL work: 136, "
      "last completed NCCL work: 136.This is most likely caused by incorrect usages of collectives");
  EXPECT_EQ(f.kind, FactKind::dump_signal);
  EXPECT_EQ(f.from_rank, 2);
  EXPECT_EQ(f.last_enqueued, 136);
  f = only(
      "[rank2]:[E419 10:53:25.421620797 ProcessGroupNCCL.cpp:1484] [PG ID 2 PG GUID 9 Rank 2] "
      "ProcessGroupNCCL's watchdog got "
      "stuck for 480 seconds without making progress in monitoring enqueued collectives.");
  EXPECT_EQ(f.kind, FactKind::heartbeat_stuck);
  EXPECT_EQ(f.group, "9");
  EXPECT_EQ(f.group_desc, "");
}

TEST(IncidentLog, OutOfMemoryInAllItsForms) {
  for (std::string const line : {"[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
                                 "13.91 GiB. GPU 3 has a total capacity of 79.11 GiB",
                                 "[rank3]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to "
                                 "allocate 2.00 GiB (GPU 3; 79.15 GiB total capacity)",
                                 "[rank3]: RuntimeError: CUDA error: out of memory",
                                 "(raylet) [2024-08-25 19:21:02,241 E 1111013 1111013] (raylet) "
                                 "node_manager.cc:3064: 12 Workers (tasks / actors) killed "
                                 "due to memory pressure (OOM), 0 Workers crashed"})
    EXPECT_EQ(only(line).kind, FactKind::out_of_memory) << line;
  EXPECT_EQ(only("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB").rank, 3);
  EXPECT_THAT(read_incident_log(
                  "0 Workers (tasks / actors) killed due to memory pressure (OOM), 1 Workers crashed", "a"),
              IsEmpty());
}

TEST(IncidentLog, ExceptionsOfItsOwnAreFactsThoseOfOthersAreNot) {
  IncidentFact const f = only(
      "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"train.py\", line 4, in "
      "<module>\n[rank2]:     x = d['k']\n"
      "[rank2]: KeyError: 'k'\n");
  EXPECT_EQ(f.kind, FactKind::exception);
  EXPECT_EQ(f.rank, 2);
  EXPECT_EQ(f.line, 4);
  EXPECT_THAT(read_incident_log("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
                                "ray.exceptions.ActorDiedError: The actor died unexpectedly\n"
                                "ConnectionResetError: [Errno 104] Connection reset by peer\n"
                                "loss: 3.5, KeyError is not at the beginning\n",
                                "a"),
              IsEmpty());
  EXPECT_EQ(only("torch.distributed.DistBackendError: NCCL error in: ...").kind, FactKind::nccl_error);
  EXPECT_EQ(only("requests.exceptions.ReadTimeout: HTTPConnectionPool(host='h', port=8000)").kind,
            FactKind::request_timeout);
  EXPECT_EQ(only("[rank3]:[E1 P.cpp:1414] [PG 2 Rank 3] Process group watchdog thread terminated with "
                 "exception: CUDA error: an "
                 "illegal memory access was encountered")
                .kind,
            FactKind::exception);
}

TEST(IncidentLog, RaysPrefixNamesTheRankOnceForAll) {
  std::vector<IncidentFact> const facts = read_incident_log(
      "(WorkerDict pid=4954, ip=10.7.35.246) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
      "1.00 GiB.\n"
      "(WorkerDict pid=4954, ip=10.7.35.246) [rank6]:[W1118 20:32:23.9 x.cpp:1] Warning\n"
      "(WorkerDict pid=4954, ip=10.7.35.246) [rank6]:[E1118 20:32:23.9 P.cpp:629] NCCL WARN something "
      "[repeated 7x across "
      "cluster]\n"
      "ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.update() (pid=4954, ip=10.7.35.246, "
      "actor_id=36b6)\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n",
      "a");
  ASSERT_THAT(facts, SizeIs(3));
  EXPECT_EQ(facts[0].rank, 6);
  EXPECT_EQ(facts[0].rank_source, RankSource::world);
  EXPECT_FALSE(facts[0].folded);
  EXPECT_TRUE(facts[1].folded);
  EXPECT_EQ(facts[2].process, "pid=4954, ip=10.7.35.246");
  EXPECT_EQ(facts[2].rank, 6);
}

TEST(IncidentLog, TorchrunsFailures) {
  std::vector<IncidentFact> const facts = read_incident_log(
      "W1026 03:51:31.222000 2521679 site-packages/torch/distributed/elastic/multiprocessing/api.py:908] "
      "Sending process 2521733 "
      "closing signal SIGTERM\n"
      "E0325 20:57:27.620000 2606 api.py:869] failed (exitcode: -9) local_rank: 5 (pid: 2630) of binary: "
      "/root/bin/python\n"
      "W1130 12:13:49.388000 124326 api.py:723] Received 15 death signal, shutting down workers\n"
      "Failures:\n[1]:\n  time      : 2026-01-15_05:44:28\n  host      : n\n  rank      : 1 (local_rank: 1)\n"
      "  exitcode  : -11 (pid: 6175)\n  error_file: <N/A>\n"
      "------------------------------------------------------\n"
      "Root Cause (first observed failure):\n[0]:\n  time      : 2026-01-15_05:44:29\n  host      : n\n"
      "  rank      : 9 (local_rank: 1)\n  exitcode  : -6 (pid: 6174)\n  error_file: <N/A>\n"
      "======================================================\n",
      "a");
  ASSERT_THAT(facts, SizeIs(5));
  EXPECT_EQ(facts[0].kind, FactKind::launcher_stop);
  EXPECT_EQ(facts[1].exit_code, -9);
  EXPECT_EQ(facts[1].rank, 5);
  EXPECT_EQ(facts[1].rank_source, RankSource::node);
  EXPECT_EQ(facts[2].kind, FactKind::launcher_stop);
  EXPECT_EQ(facts[3].rank, 1);
  EXPECT_EQ(facts[3].exit_code, -11);
  EXPECT_FALSE(facts[3].first_observed);
  EXPECT_EQ(facts[4].rank, 9);
  EXPECT_EQ(facts[4].rank_source, RankSource::world);
  EXPECT_EQ(facts[4].process, "pid=6174");
  EXPECT_TRUE(facts[4].first_observed);
  EXPECT_EQ(clock_text(facts[4].time), "01-15 05:44:29.000");
}

TEST(IncidentLog, ALineWithoutATimeFollowsTheOneAbove) {
  std::vector<IncidentFact> const facts =
      read_incident_log("2025-05-02 10:00:00,500 INFO step 3\nValueError: bad\n", "a");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_FALSE(facts[0].time);
  EXPECT_EQ(clock_text(facts[0].after), "05-02 10:00:00.500");
}

// verl#1158: ALLTOALL 4486, last enqueued 4489, completed 4485; the monitor 657 s after the watchdog.
TEST(IncidentLog, E3TimeoutsThenTheMonitor) {
  std::string log;
  for (int const r : {0, 1, 2, 3}) {
    std::string const rank = std::to_string(r);
    log += watchdog(r, "419 10:42:28.1", 607,
                    "SeqNum=4486, OpType=ALLTOALL, NumelIn=46684160, NumelOut=46684160, Timeout(ms)=600000",
                    r == 0 ? 600013 : 600088);
    log += "[rank" + rank + "]:[E419 10:42:28.2 P.cpp:1664] [PG ID 2 PG GUID 9 Rank " + rank +
           "] Exception (either an error or timeout) detected by watchdog at work: 4486, last enqueued NCCL "
           "work: 4489, last "
           "completed NCCL work: 4485.\n";
  }
  log +=
      "[rank2]:[E419 10:53:25.421620797 P.cpp:1484] [PG ID 2 PG GUID 9 Rank 2] ProcessGroupNCCL's watchdog "
      "got stuck for 480 seconds\n";
  std::vector<IncidentFact> const facts = in_order(read_incident_log(log, "a"));
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.kind, BlameKind::all_waiting);
  EXPECT_THAT(b.culprits, IsEmpty());
  EXPECT_EQ(b.group, "9");
  EXPECT_EQ(b.op, "ALLTOALL");
  EXPECT_EQ(b.seq, 4486);
  EXPECT_THAT(b.waiting, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(b.verdict, HasSubstr("46684160 elements after 600013 ms (limit 600000 ms)"));
  EXPECT_EQ(b.ranks[0].last_enqueued, 4489);
  EXPECT_EQ(b.ranks[0].last_completed, 4485);
  // 10:53:25.42 - 10:42:28.1 = 657.3 s.
  EXPECT_NEAR((facts.back().after - facts.front().after).value, 657.32, 0.01);
}

// torchtune#2651: rank 0 writes a checkpoint for longer than 600 s while the others are in ALLREDUCE 9387 of
// one element.
TEST(IncidentLog, E6TheRankThatWritesIsTheOneThatIsSilent) {
  std::string log = "Getting full model state dict took 109.51 secs\n";
  for (int r = 1; r < 8; ++r)
    log += watchdog(r, "430 05:09:47.0", 632,
                    "SeqNum=9387, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000", 600005);
  Blame const b = blame({}, read_incident_log(log, "a"));
  EXPECT_EQ(b.kind, BlameKind::missing_rank);
  EXPECT_THAT(b.culprits, ElementsAre(0));
  EXPECT_THAT(
      b.verdict,
      HasSubstr("Rank 0 is the one to look at: ranks 1-7 timed out in ALLREDUCE seq 9387, 1 element after"));
}

// TGI#654: one shard runs out of memory, the others wait.
TEST(IncidentLog, E21TheRankWithoutMemoryIsNamedFirst) {
  std::string log =
      "2025-05-02 10:00:00,500 INFO step 3\n"
      "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 2 has a total "
      "capacity of 79.11 GiB\n";
  for (int const r : {0, 1, 3})
    log += watchdog(r, "502 10:10:01.0", 632,
                    "SeqNum=77, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000", 600050);
  Blame const b = blame({}, read_incident_log(log, "a"));
  EXPECT_EQ(b.kind, BlameKind::first_failure);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_EQ(b.verdict.substr(0, 24), "Rank 2 ran out of memory");
  EXPECT_THAT(b.waiting, ElementsAre(0, 1, 3));
}

// verl#6673: nothing of NCCL in the log.
TEST(IncidentLog, E18NothingOfNccl) {
  Blame const b = blame({}, read_incident_log("step:12 - reward\nGPU util 0 %\n", "a"));
  EXPECT_EQ(b.kind, BlameKind::no_collective);
}

TEST(IncidentLog, SurvivesNoise) {
  std::string const good =
      watchdog(3, "1112 10:42:28.123", 607, "SeqNum=1, OpType=X, NumelIn=1, NumelOut=1, Timeout(ms)=1", 2) +
      "(W pid=1, ip=a) [rank99999999999999999999]: KeyError: x\n[PG ID 0 PG GUID 0(d) Rank 1] at work: "
      "9999999999999999999999\n"
      "Root Cause (first observed failure):\n rank : 1\n exitcode : -6\n";
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 5; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    std::vector<IncidentFact> const facts = read_incident_log(bad.substr(random() % bad.size()), "a");
    EXPECT_LE(facts.size(), 20U);
    EXPECT_FALSE(blame_json(blame({}, facts), facts).empty());
    EXPECT_FALSE(blame_text(blame({}, facts), facts).empty());
  }
  EXPECT_THAT(read_incident_log(std::string(1 << 20, '['), "a"), IsEmpty());
}

}  // namespace
}  // namespace rollcast
