#include "reports/sweep_workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

namespace rollcast {
namespace {

using Json = nlohmann::json;

// Messages are arrays. To rank 0: ["ready", tasks it takes, identity], ["done", id, text, error]. From it:
// ["task", id, text], ["end"], which is answered by ["bye"].
std::string text_of(Json const& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

constexpr int kTick = 1;  // ms between two looks for messages

}  // namespace

SweepWorkers::SweepWorkers(ForkPool& pool, int helpers, MpiRanks* ranks, std::string identity)
    : pool_(pool), ranks_(ranks), identity_(std::move(identity)) {
  free_.assign(ranks == nullptr ? 1 : static_cast<std::size_t>(ranks->size()), 0);
  free_.front() = helpers * kTasksPerHelper;
}

SweepWorkers::~SweepWorkers() {
  std::size_t left = free_.size() - 1;
  for (std::size_t rank = 1; rank < free_.size(); ++rank)
    ranks_->send(static_cast<int>(rank), text_of(Json::array({"end"})));
  while (left > 0) {
    auto const message = ranks_->receive();
    if (message && message->text == text_of(Json::array({"bye"}))) --left;
    if (!message) std::this_thread::sleep_for(std::chrono::milliseconds(kTick));
  }
}

bool SweepWorkers::takes_more() const {
  return std::any_of(free_.begin(), free_.end(), [](int n) { return n > 0; });
}

void SweepWorkers::submit(std::size_t id, std::string task) {
  auto const most = std::max_element(free_.begin(), free_.end());
  if (*most <= 0) throw std::logic_error("SweepWorkers::submit: nobody takes a task");
  --*most;
  if (most == free_.begin()) {
    pool_.submit(id, std::move(task));
  } else {
    ranks_->send(static_cast<int>(most - free_.begin()), text_of(Json::array({"task", id, std::move(task)})));
  }
}

std::optional<FinishedTask> SweepWorkers::receive() {
  while (auto const message = ranks_->receive()) {
    Json const j = Json::parse(message->text);
    int& free = free_.at(static_cast<std::size_t>(message->from));
    if (j.at(0) == "ready") {
      if (j.at(2) != identity_)
        throw std::runtime_error(
            fmt::format("rank {} has another scenario, other options or another program; give all machines "
                        "the same files",
                        message->from));
      free = j.at(1).get<int>();
      continue;
    }
    ++free;
    return FinishedTask{j.at(1).get<std::size_t>(), {j.at(2).get<std::string>(), j.at(3).get<std::string>()}};
  }
  return std::nullopt;
}

std::optional<FinishedTask> SweepWorkers::next(int milliseconds) {
  bool const working = pool_.unfinished() > 0;
  if (ranks_ == nullptr) {
    if (!working || !pool_.ready(milliseconds)) return std::nullopt;
    ++free_.front();
    return pool_.next();
  }
  for (int waited = 0;; waited += kTick) {
    if (auto done = receive()) return done;
    if (waited >= milliseconds) return std::nullopt;
    if (working && pool_.ready(kTick)) {
      ++free_.front();
      return pool_.next();
    }
    if (!working) std::this_thread::sleep_for(std::chrono::milliseconds(kTick));
  }
}

void serve_sweep(ForkPool& pool, int helpers, MpiRanks& ranks, std::string const& identity) {
  ranks.send(0, text_of(Json::array({"ready", helpers * kTasksPerHelper, identity})));
  while (true) {
    while (auto const message = ranks.receive()) {
      Json const j = Json::parse(message->text);
      if (j.at(0) == "end") {
        ranks.send(0, text_of(Json::array({"bye"})));
        return;
      }
      pool.submit(j.at(1).get<std::size_t>(), j.at(2).get<std::string>());
    }
    if (pool.unfinished() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kTick));
    } else if (pool.ready(kTick)) {
      auto const done = pool.next();
      ranks.send(0, text_of(Json::array({"done", done->id, done->result.text, done->result.error})));
    }
  }
}

}  // namespace rollcast
