// A recorded series of requests as comma-separated text with a header:
//
//   arrival,prompt,output,adapter          arrived_at,num_prefill_tokens,num_decode_tokens
//   0.00,512,64,legal                      0.0,4808,10
//
// arrival (arrived_at): seconds, not negative; prompt (num_prefill_tokens) and output (num_decode_tokens):
// whole tokens of at least 1; adapter: may be absent, or empty in a row, which then names none (one is
// drawn). Where every adapter is a whole number it is that adapter; else they are names, numbered by their
// first appearance. Columns in any order; others are skipped, but not one whose name is nearly one of these.
// Quoted cells, blank lines, Windows line ends and a byte-order mark are taken.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "models/serve_options.hpp"

namespace rollcast {

struct TraceFile {
  // In order of arrival, those of one time as in the file; the first is at 0. adapter -1: the row names none.
  std::vector<ServeRequest> rows;
  int adapters = 0;        // the largest number in use + 1; 0: no row names one
  bool all_named = false;  // every row names its adapter
  std::string error;       // names the file, the line and the column; empty on success
  std::string remedy;      // what to write instead
};

// At most 1 GiB and ten million rows, adapters below one million. A relative path is resolved against
// `folder`.
TraceFile read_trace_file(std::string const& path, std::string const& folder);

// text as if it stood in file `name`.
TraceFile parse_trace(std::istream& text, std::string const& name);

}  // namespace rollcast
