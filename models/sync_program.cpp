#include "models/sync_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcast {
namespace {

constexpr Bytes kBucket = GiB(1);
constexpr int kTrainer = 0;
constexpr int kTransfer = 1;
constexpr int kGathers = 0;  // streams
constexpr int kSends = 1;
constexpr int kRanksThatKeepPace = 2;  // assumed; see the header

class Builder {
 public:
  explicit Builder(SyncCollectives const& s) : s_(s) {
    p_.communicators = {{"trainer", {}}, {"weight transfer", {}}};
    for (int b = 1; b <= s.buckets; ++b) p_.names.push_back(fmt::format("gather {}", b));
    for (int b = 1; b <= s.buckets; ++b) p_.names.push_back(fmt::format("broadcast {}", b));
  }

  CollectivePrograms build() {
    bool const runs_ahead = s_.trainer_ranks > kRanksThatKeepPace;
    for (int rank = 0; rank < s_.trainer_ranks; ++rank) {
      add_rank(fmt::format("rank {}", rank), {kTrainer, kTransfer});
      if (rank > 0 && runs_ahead) {
        for (int b = 0; b < s_.buckets; ++b) gather(b, kGathers);
        for (int b = 0; b < s_.buckets; ++b) send(b, kGathers);
        continue;
      }
      bool const apart = rank == 0 && s_.stream == GatherStream::default_stream;
      for (int b = 0; b < s_.buckets; ++b) {
        gather(b, kGathers);
        send(b, apart ? kSends : kGathers, apart);
      }
    }
    for (int rank = 0; rank < s_.engine_ranks; ++rank) {
      add_rank(fmt::format("engine rank {}", rank), {kTransfer});
      for (int b = 0; b < s_.buckets; ++b) send(b, kSends);
    }
    return std::move(p_);
  }

 private:
  void add_rank(std::string name, std::initializer_list<int> communicators) {
    for (int c : communicators)
      p_.communicators[static_cast<std::size_t>(c)].members.push_back(static_cast<int>(p_.ranks.size()));
    p_.ranks.push_back({std::move(name), {}});
  }
  void gather(int bucket, int stream) {
    p_.ranks.back().issued.push_back({kTrainer, stream, bucket, -1, s_.gather});
  }
  void send(int bucket, int stream, bool after_gather = false) {
    auto& issued = p_.ranks.back().issued;
    int const last = static_cast<int>(issued.size()) - 1;
    issued.push_back({kTransfer, stream, s_.buckets + bucket, after_gather ? last : -1, s_.send});
  }

  SyncCollectives const& s_;
  CollectivePrograms p_;
};

}  // namespace

int sync_buckets(Bytes weights) { return std::max(1, static_cast<int>(std::ceil(weights / kBucket))); }

CollectivePrograms sync_programs(SyncCollectives const& s) { return Builder(s).build(); }

}  // namespace rollcast
