// Which of n players has the least key: the root of a tournament tree. A change of one key replays the
// matches on its way up, log2 n of them; the winner is there at once. Of equal keys the player with the
// lowest number wins.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace rollcast {

template <class Key, class Less = std::less<Key>>
class Tournament {
 public:
  // n >= 1 players, all with this key.
  Tournament(int n, Key const& key) : keys_(static_cast<std::size_t>(n), key) {
    while (leaves_ < keys_.size()) leaves_ *= 2;
    winners_.resize(2 * leaves_);
    for (std::size_t i = 0; i < leaves_; ++i)
      winners_[leaves_ + i] = i < keys_.size() ? static_cast<int>(i) : -1;
    for (std::size_t i = leaves_ - 1; i > 0; --i) play(i);
  }

  int winner() const { return winners_[1]; }
  Key const& key(int player) const { return keys_[static_cast<std::size_t>(player)]; }
  void set(int player, Key const& key) {
    keys_[static_cast<std::size_t>(player)] = key;
    for (std::size_t i = (leaves_ + static_cast<std::size_t>(player)) / 2; i > 0; i /= 2) play(i);
  }

 private:
  // -1: nobody. The players of a left subtree have the lower numbers.
  void play(std::size_t i) {
    int const left = winners_[2 * i];
    int const right = winners_[2 * i + 1];
    winners_[i] = right >= 0 && Less{}(key(right), key(left)) ? right : left;
  }

  std::vector<Key> keys_;
  std::size_t leaves_ = 1;
  std::vector<int> winners_;  // [1]: the root; the children of i are 2 i and 2 i + 1
};

}  // namespace rollcast
