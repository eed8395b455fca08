// The KV pages of one rollout engine, counted, with the prompt pages that requests of one group share.
//
// A page is held (by one sequence, or by all members of a group that are running), cached (held by nobody,
// its content kept) or empty. available = cached + empty. Pages are taken from the empty ones first, then
// from the cached ones: the group unused for longest gives its last page first.
//
// Sharing, after vLLM V1's automatic prefix caching, with these rules:
// - Shareable are the full pages of the prompt before its last token, (prompt - 1) / block_size of them: at
// least
//   one token of a sequence is always computed. Pages with generated tokens are not shared.
// - A shareable page is present from the step that computes it on; a later admission in that very step
// already
//   finds it (vLLM caches pages when the scheduler allocates them).
// - While a member runs, the group's present pages are held, once for all members. When the last member
// leaves,
//   they become cached. A member that comes back finds those that were not taken since.
// - What is present is always a leading part of the prompt.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace rollcast {

class KvPages {
 public:
  static constexpr int kNoGroup = -1;

  // total >= 1 pages of block_size >= 1 tokens, else std::logic_error.
  KvPages(std::int64_t total, int block_size, bool prefix_caching);

  std::int64_t total() const { return total_; }
  std::int64_t available() const { return available_; }
  std::int64_t used() const { return total_ - available_; }
  std::int64_t pages(std::int64_t tokens) const { return (tokens + block_size_ - 1) / block_size_; }

  // Joins a request to its group for its whole life (leave at its end). id < 0, or no prefix caching:
  // kNoGroup. Members whose prompts differ in length are a std::logic_error.
  int join(std::int64_t id, int prompt_tokens);
  void leave(int group);

  // Prompt tokens of the group that are present.
  std::int64_t cached_tokens(int group) const;

  // Out of the available ones, what admit takes.
  std::int64_t pages_to_admit(int group, std::int64_t tokens) const;
  // Whether admit would succeed.
  bool fits(int group, std::int64_t tokens) const { return pages_to_admit(group, tokens) <= available_; }
  // Admits a member with the group's present pages plus new ones, so that it holds `tokens` tokens; false,
  // and nothing changes, when too few pages are available.
  bool admit(int group, std::int64_t tokens);
  // A running member goes on from `held` to `tokens` tokens; false, and nothing changes, when pages lack.
  bool extend(int group, std::int64_t held, std::int64_t tokens);
  // Gives up all pages of a running member that holds `tokens` tokens.
  void release(int group, std::int64_t tokens);
  // Takes pages for sequences that decode, or for adapters; n <= available.
  void take(std::int64_t n);
  // Of those taken for adapters, n are empty again.
  void give(std::int64_t n) { available_ += n; }
  // Forgets every cached page. Only while nothing is held.
  void drop_cache();

 private:
  struct Group {
    std::int64_t id = 0;
    int prompt_tokens = 0;
    std::int64_t shareable = 0;
    std::int64_t present = 0;
    int members = 0;  // alive
    int running = 0;
    // The list of groups with cached pages, least recently used first.
    bool idle = false;
    int previous = kNoGroup;
    int next = kNoGroup;
  };

  Group& at(int group) { return groups_[static_cast<std::size_t>(group)]; }
  Group const& at(int group) const { return groups_[static_cast<std::size_t>(group)]; }
  void evict();
  void append_idle(int group);
  void remove_idle(int group);
  void forget_if_unused(int group);

  std::int64_t total_;
  std::int64_t block_size_;
  bool prefix_caching_;
  std::int64_t available_;
  std::int64_t cached_ = 0;
  std::vector<Group> groups_;
  std::vector<int> unused_;  // free places of groups_
  std::unordered_map<std::int64_t, int> index_;
  int oldest_ = kNoGroup;
  int newest_ = kNoGroup;
};

}  // namespace rollcast
