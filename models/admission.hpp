// How many groups (a prompt with all its samples) an asynchronous run may have under way: the rules of four
// frameworks, which count differently, as one value. All numbers are whole groups; a group is
//   running   started, not finished      queued   finished, not taken by the trainer
// A trainer step takes `batch` groups; the weights are updated after every `batches_per_update` steps, and
// V = batch x batches_per_update is what one version trains. version() counts the updates.
//
// verl, fully asynchronous (verl-project/verl, verl/experimental/fully_async_policy/fully_async_rollouter.py:
// set_max_required_samples, _should_pause_generation, reset_staleness; message_queue.py): batch is
// require_batches x ppo_mini_batch_size, cap = whole part of V (1 + max_staleness). A group may start while
// fewer than cap have been counted in this version, at its update the count becomes running + queued, so that
// what is carried over counts; while fewer than cap are queued; and while fewer than min(16 engines, cap)
// run. The trainer takes in order of finish. verl rejects none; here a rejected group leaves the count.
//   Not here: a rollouter that a full queue has stopped looks again only every 10 s.
//
// AReaL (inclusionAI/AReaL, areal/infra/staleness_manager.py, get_capacity; workflow_executor.py): at most
// min(max_concurrent - running, (max_staleness + version + 1) V - (accepted + running)) may start; rejected
// ones leave the count; max_concurrent is V by default. The trainer takes, of those that have finished, the
// ones that started first.
//
// slime (THUDM/slime, train_async.py): a batch starts as a whole when the trainer takes the one before it,
// and is trained as a whole. An update waits for the batch that is being generated.
//
// NeMo-RL, asynchronous GRPO (NVIDIA-NeMo/RL, nemo_rl/algorithms/async_utils.py: AsyncTrajectoryCollector,
// ReplayBuffer.sample): the groups of batch b are for the trainer step b alone, which waits for all of them;
// with the weights of version v, batches up to that of version v + max_staleness (max_trajectory_age_steps)
// may start, in order; max(1, max_staleness V) may run. A rejected group's place is filled again. (The replay
// buffer, grpo.py, holds 2 max_staleness V: more than these rules let finish.)
//
// Staleness of a group: version() when the trainer takes it, less the version at its start. With S the bound
// of staleness_bound(), for every group
//   slime, NeMo-RL   staleness <= S
//   verl, AReaL      staleness <= S + (those that started later and were taken earlier) / V, rounded up
// verl, AReaL: in version v fewer than (v + 1 + max_staleness) V have started before it, so in order of start
// it is among those that version v + S, rounded up, takes. A group that is overtaken (a long tail) waits
// longer.
#pragma once

#include <cstdint>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

struct AdmissionOptions {
  QueueRule rule = QueueRule::areal;
  std::int64_t batch = 0;
  std::int64_t batches_per_update = 1;
  double max_staleness = 0;  // verl: a share of V, any; AReaL and NeMo-RL: versions, whole; slime: unused
  std::int64_t max_concurrent = 0;    // groups that run; 0: the rule's own limit (slime: none)
  int engines = 1;                    // verl
  bool finish_before_update = false;  // an update waits for all that run; slime always does
};

struct Ticket {
  std::int64_t number = 0;   // 0, 1, 2 ... in order of start
  std::int64_t version = 0;  // at the start
  std::int64_t batch = -1;   // slime, NeMo-RL: the trainer step it is for
};

class Admission {
 public:
  // std::logic_error: batch, batches_per_update or engines below 1, a negative bound, one that must be whole.
  explicit Admission(AdmissionOptions const& options);

  std::int64_t may_start() const;
  Ticket start();                // std::logic_error: may_start() is 0
  void finish(Ticket const& t);  // generated and scored: it goes to the queue
  void reject(Ticket const& t);  // finished, not wanted
  // The groups of the next trainer step; none when they are not all there, or an update is due before it.
  std::vector<Ticket> take();

  // An update is due when the trainer has taken batches_per_update batches. From want_update() on nothing
  // starts (slime: the rest of the batch does); the weights may change when may_update(); update() is the new
  // version, std::logic_error unless wanted and allowed.
  bool update_is_due() const { return taken_since_update_ == options_.batches_per_update; }
  void want_update() { update_wanted_ = true; }
  bool may_update() const;
  void update();

  std::int64_t version() const { return version_; }
  std::int64_t running() const { return running_; }
  std::int64_t queued() const { return static_cast<std::int64_t>(queue_.size()); }
  std::int64_t started() const { return started_; }
  std::int64_t per_version() const { return options_.batch * options_.batches_per_update; }
  std::int64_t staleness_bound() const;

 private:
  bool by_batch() const { return options_.rule == QueueRule::slime || options_.rule == QueueRule::nemo_rl; }
  std::int64_t most_running() const;
  std::int64_t open_places() const;
  void end(Ticket const& t);

  AdmissionOptions options_;
  std::int64_t cap_ = 0;      // verl
  std::int64_t counted_ = 0;  // verl: in this version
  std::int64_t version_ = 0;
  std::int64_t started_ = 0;
  std::int64_t running_ = 0;
  std::int64_t rejected_ = 0;
  std::int64_t placed_ = 0;               // slime, NeMo-RL: places given, the first time
  std::vector<std::int64_t> free_again_;  // batches of rejected groups, a heap, the first batch in front
  std::vector<Ticket> queue_;             // in order of finish
  std::int64_t taken_batches_ = 0;
  std::int64_t taken_since_update_ = 0;
  std::int64_t ready_of_next_ = 0;  // queued for the next batch
  bool update_wanted_ = false;
};

}  // namespace rollcast
