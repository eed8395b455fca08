// The prices of collectives in one cluster, for a simulation that asks many times: a CollectiveCalibration
// bound to a ClusterSpec, with the curve of each group kept from its first question on.
//
// What the calibration does not cover falls back to the profile's shares (models/prices.hpp), part by part:
//   no correction at all     collective_price
//   no engine's all-reduce   at(), with latency at most the profile's engine_all_reduce_alpha
//   no exchange of that kind at(all_to_all) of tokens x top_k x hidden bf16 numbers
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/collective_calibration.hpp"

namespace rollcast {

// How one kind of question was answered.
struct PricedGroup {
  std::string operation;  // a collective; "engine all_reduce"; "ep_dispatch", "ep_combine"
  Group group;
  Evidence evidence = Evidence::unmeasured;
  std::string source;
};

class CollectivePrices {
 public:
  // Of the profile's own calibration, if it has one. The profile must outlive it.
  CollectivePrices(Profile const& profile, ClusterSpec cluster);
  CollectivePrices(Profile const&&, ClusterSpec) = delete;
  // Calibration and profile must outlive it.
  CollectivePrices(CollectiveCalibration const& calibration, Profile const& profile, ClusterSpec cluster)
      : calibration_(calibration), profile_(profile), cluster_(std::move(cluster)) {}

  // bytes as models/prices.hpp counts them. A group on several nodes of nodes without NIC is a
  // std::logic_error.
  CollectivePrice at(CollectiveKind kind, Group g, Bytes bytes);

  // The tensor-parallel all-reduce of an inference engine between `ranks` neighbours: within an NVSwitch node
  // the engine's own (cuda_graphs: replayed in a graph, else with its launch), elsewhere and for plain
  // Hugging Face at(). Engines without a table on this very GPU take vLLM's.
  CollectivePrice engine_all_reduce(EngineKind engine, int ranks, Bytes bytes, bool cuda_graphs);

  CollectivePrice expert_exchange(ExpertExchange const& e);

  ClusterSpec const& cluster() const { return cluster_; }

  // Every group that was asked for, by operation, ranks, nodes and sharing.
  std::vector<PricedGroup> answered() const;

 private:
  enum class Question {
    collective,  // and `detail` its kind
    engine,      // detail: 2 x EngineKind + cuda_graphs
    exchange,    // detail: 2 x ExchangeMode + ExchangeDirection
  };
  struct Key {
    Question question = Question::collective;
    int detail = 0;
    int ranks = 1;
    int nodes = 1;
    int sharing = 1;
    auto operator<=>(Key const&) const = default;
  };
  struct Answer {
    Key key;
    CollectiveCurve curve;  // volume 0: priced by a formula, for its evidence and source only
  };

  Answer const* find(Key const& key) const;
  Answer const& keep(Key const& key, CollectiveCurve curve);
  std::optional<CollectiveCurve> engine_curve(EngineKind engine, int ranks, bool cuda_graphs) const;

  CollectiveCalibration const& calibration_;
  Profile const& profile_;
  ClusterSpec cluster_;
  std::vector<Answer> answers_;  // by key
};

}  // namespace rollcast
