#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <initializer_list>

#include "reports/command_line.hpp"

namespace {

// A file must not get the number of a closed standard stream: what is printed would land in it. Opened the
// other way round, so that printing there is an error.
void hold_standard_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1) ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  hold_standard_streams();
  try {
    return rollcast::run_command_line(argc, argv);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "rollcast: internal error: %s\n", e.what());
    return 1;
  }
}
