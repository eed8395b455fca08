#include "models/environment.hpp"

#include <algorithm>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr int kIndexBits = 48;  // of a sample; a turn's draws have its number above them
constexpr int kMostTurns = 65535;

RandomKey with_purpose(RandomKey key, Purpose purpose, int turn) {
  key.purpose = purpose;
  key.index |= static_cast<std::uint64_t>(turn) << kIndexBits;
  return key;
}

}  // namespace

std::vector<Turn> turns_of_sample(TurnModel const& m, int prompt_tokens, int response_tokens,
                                  RandomKey sample_key) {
  if (prompt_tokens < 1 || response_tokens < 1)
    throw std::logic_error("a sample without prompt or response tokens");
  if (sample_key.index >> kIndexBits != 0) throw std::logic_error("the index of a sample is below 2^48");
  int const step = static_cast<int>(sample_key.step);
  int const count = std::min(
      {sample(m.turns, with_purpose(sample_key, Purpose::turns, 0), step), response_tokens, kMostTurns});
  int const share = response_tokens / count;
  int const longer = response_tokens % count;

  std::vector<Turn> turns;
  turns.reserve(static_cast<std::size_t>(count));
  int context = prompt_tokens;
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    Turn turn;
    turn.context_tokens = context;
    turn.cached_tokens = kept;
    turn.generate_tokens = share + (i < longer ? 1 : 0);
    context += turn.generate_tokens;
    if (i + 1 < count) {
      kept = m.keep_kv ? context - 1 : 0;
      turn.pause = sample(m.tool, with_purpose(sample_key, Purpose::tool_time, i));
      if (m.observation_tokens)
        context +=
            sample(*m.observation_tokens, with_purpose(sample_key, Purpose::observation_length, i), step);
    }
    turns.push_back(turn);
  }
  return turns;
}

int sequence_tokens(std::vector<Turn> const& turns) {
  return turns.empty() ? 0 : turns.back().context_tokens + turns.back().generate_tokens;
}

Seconds total_pause(std::vector<Turn> const& turns) {
  Seconds sum;
  for (Turn const& t : turns) sum += t.pause;
  return sum;
}

int longest_sequence(TurnModel const& m, int longest_prompt, int longest_response) {
  if (longest_prompt == 0 || longest_response == 0) return 0;
  if (!m.observation_tokens) return longest_prompt + longest_response;
  int const turns = longest(m.turns);
  int const observation = longest(*m.observation_tokens);
  if (turns == 0 || (turns > 1 && observation == 0)) return 0;
  return longest_prompt + longest_response + (turns - 1) * observation;
}

}  // namespace rollcast
