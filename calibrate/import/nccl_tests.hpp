// Output of nccl-tests as people paste it, and a table collected from such output.
//
// Log: a row is "size count type redop [root] time algbw busbw [#wrong]", out of place, then the same in
// place; it is found wherever it stands in a line, so that the prefixes of mpirun, srun and pod logs, colour
// codes, tabs and quotes do not matter. Times in us, sizes in B, GB = 1e9 B. Old versions have no root; the
// columns in place may be missing. Around the rows are read: the program's name ("all_reduce_perf"), "NCCL
// version", the list of ranks (host and device). Several tables may follow each other.
//
// What a log does not say is worked out or asked for:
//   collective  from redop, root and busbw / algbw where only one fits; else the hint
//   ranks       from busbw / algbw: 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and
//               all-to-all, of the largest message; broadcast and send_recv have no such ratio
//   nodes       the hint, else as many as 8 GPUs a node make
//   gpu         the hint, else the path
// A row whose time and algbw disagree, or whose busbw does not fit the number of ranks, is a problem.
//
// variant: "nccl", "nccl in place".
#pragma once

#include <string>
#include <vector>

#include "calibrate/import/imported.hpp"

namespace rollcast {

bool is_nccl_tests_log(SourceText const& source);
void read_nccl_tests_log(SourceText const& source, Imported& out);

// table_id,collective,gpu,nodes,nranks,nic,nccl,algo,size_B,time_us,algbw_GBps,busbw_GBps; out of place,
// float. Rows whose `nic` says that the poster found the fabric under-performing are skipped. variant:
// "nccl", with the algorithm where it was forced.
bool is_nccl_tests_table(std::vector<std::string> const& columns);
void read_nccl_tests_table(SourceText const& source, Imported& out);

}  // namespace rollcast
