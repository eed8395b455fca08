// Values that look like secrets are shown nowhere: not in a message, not in the source line below it, not in
// a scenario.
#pragma once

#include <string>
#include <string_view>

namespace rollcast {

// The text with every such piece replaced by "(hidden)": what follows a name that holds key, token, secret,
// password or credential (wandb_key=..., --hf-token ..., "api_key": "..."), user:password@ of an address, and
// words with the prefixes of well-known tokens.
std::string without_secrets(std::string_view text);

}  // namespace rollcast
