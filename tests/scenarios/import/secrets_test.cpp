#include "scenarios/import/secrets.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

TEST(Secrets, AreHidden) {
  EXPECT_EQ(without_secrets("--wandb-key 0123abcd --lr 1"), "--wandb-key (hidden) --lr 1");
  EXPECT_EQ(without_secrets("WANDB_API_KEY=0123abcd run"), "WANDB_API_KEY=(hidden) run");
  EXPECT_EQ(without_secrets("{\"HF_TOKEN\": \"abc\"}"), "{\"HF_TOKEN\": \"(hidden)\"}");
  EXPECT_EQ(without_secrets("hub_token: abc"), "hub_token: (hidden)");
  EXPECT_EQ(without_secrets("hf_abcdefghijkl"), "(hidden)");
  EXPECT_EQ(without_secrets("x sk-abcdefghijklmnop y"), "x (hidden) y");
  EXPECT_EQ(without_secrets("https://me:word@host/x"), "https://(hidden)@host/x");
}

TEST(Secrets, OtherWordsStay) {
  for (char const* text :
       {"--train_max_tokens_per_gpu 16384", "ppo_max_token_len_per_gpu=24000", "policy.tokenizer.name=x",
        "loss_agg_mode=token-mean", "a secret of the trade", "model: Qwen/Qwen3-8B", "data.prompt_key=prompt",
        "max_num_batched_tokens: 8192", "stop_token_ids: 1", "--hub-token --lr 1"}) {
    EXPECT_EQ(without_secrets(text), text);
  }
}

}  // namespace
}  // namespace rollcast
