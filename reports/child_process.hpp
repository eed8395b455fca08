// Another program, started without a shell, its standard output read line by line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

struct ChildEnd {
  std::string error;   // why it could not be started; "" when it ran
  int exit_code = -1;  // -1: it was ended by `signal`
  int signal = 0;
};

// `path`: the program's file. Standard input is empty, standard error that of this process. A line comes
// without its end; where on_line says false, the output is closed, which ends a program that goes on writing,
// and no further line comes. Returns when the program has ended.
ChildEnd run_child(std::string const& path, std::vector<std::string> const& arguments,
                   std::function<bool(std::string_view line)> const& on_line);

}  // namespace rollcast
