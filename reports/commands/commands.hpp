// The commands of the program, one file each. Each function adds one verb to the command line; when the verb
// runs it sets exit_code (0: forecast made, 2: bad input, 3: an outcome named by --fail-on; of calibrate
// check and bench 1: failed).
#pragma once

#include <CLI/CLI.hpp>

namespace rollcast {

void add_run_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app, int& exit_code);
void add_compare_command(CLI::App& app, int& exit_code);
void add_memory_command(CLI::App& app, int& exit_code);
void add_weights_command(CLI::App& app, int& exit_code);
void add_catalog_command(CLI::App& app, int& exit_code);
void add_calibrate_command(CLI::App& app, int& exit_code);
void add_validate_command(CLI::App& app, int& exit_code);
void add_ratio_command(CLI::App& app, int& exit_code);
void add_import_command(CLI::App& app, int& exit_code);
void add_blame_command(CLI::App& app, int& exit_code);
void add_plan_command(CLI::App& app, int& exit_code);
void add_schema_command(CLI::App& app, int& exit_code);
// `manual` and `completion`, of what app holds when they run.
void add_manual_commands(CLI::App& app, int& exit_code);
void add_sweep_command(CLI::App& app, int& exit_code);

}  // namespace rollcast
