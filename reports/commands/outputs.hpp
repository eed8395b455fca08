// What a command does with its results: files, the report on standard output, the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "sim/event_log.hpp"

namespace rollcast {

struct Uncertainty;

struct OutputOptions {
  std::string json;  // paths; empty: not wanted, "-": standard output in place of the report
  std::string csv;
  std::string trace;
  std::string html;
  std::string log;
  std::string requests;
  std::string snapshot;              // of `run` alone
  std::vector<std::string> fail_on;  // "oom", "stall"
  bool quiet = false;
  bool incident = false;  // the timeline of an incident in place of the report
};

// Adds --json, --csv, --requests, --trace, --html, --log, --fail-on and --quiet; `options` must outlive the
// parse.
void add_output_options(CLI::App& command, OutputOptions& options);

// An option that names a file to be written; `path` must outlive the parse.
void add_output_file(CLI::App& command, std::string const& option, std::string& path,
                     std::string const& what);

// One sentence when two outputs would go to the same place, one over a file that is read, or an HTML report
// is asked of a build without; empty if all is well. Names are compared as the files they lead to.
std::string output_conflict(OutputOptions const& options, std::vector<std::string> const& inputs);
std::string output_conflict(std::vector<std::string> const& outputs, std::vector<std::string> const& inputs);

// Whether an output takes standard output, so that nothing else may be printed there.
bool takes_standard_output(OutputOptions const& options);

// Writes every output, with the bands of the figures where there were draws; returns the exit code: 0, 2
// after a failed write was told on standard error, or 3. "oom" is also an engine that refuses to start for
// want of memory, "stall" also a deadlock.
int write_outputs(EventLog const& log, OutputOptions const& options,
                  Uncertainty const* uncertainty = nullptr);

// The report of a command without an event log, and its other forms where it has them.
struct ReportForms {
  std::function<std::string()> text;
  std::function<std::string()> json = {};
  std::function<std::string()> csv = {};
  std::function<std::string()> html = {};
};
// Writes the forms that are asked for, and the text unless an output takes standard output; 0, or 2 after a
// failed write was told on standard error.
int write_report(OutputOptions const& options, ReportForms const& forms);

}  // namespace rollcast
