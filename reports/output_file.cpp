#include "reports/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace rollcast {
namespace {

std::string failure(std::string const& what, int error) {
  return fmt::format("cannot write {}: {}", what, std::strerror(error));
}

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    ssize_t const n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// A device or pipe is written in place: renaming over /dev/null would replace it.
std::string write_in_place(std::string const& path, std::string_view content) {
  int const fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return failure(path, errno);
  int error = write_all(fd, content);
  if (::close(fd) != 0 && error == 0) error = errno;
  return error == 0 ? std::string() : failure(path, error);
}

std::string folder_of(std::string const& path) {
  auto const slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

// A link keeps pointing where it points: the file behind it is replaced.
std::string resolved(std::string const& path) {
  std::unique_ptr<char, decltype(&std::free)> const real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

// An open file under a new name in `folder`; fd < 0 with errno set when there is none.
struct Beside {
  int fd = -1;
  std::string path;
};
Beside create_beside(std::string const& folder) {
  Beside b;
  for (int attempt = 0; b.fd < 0 && attempt < 100; ++attempt) {
    b.path = fmt::format("{}.rollcast-{}-{}", folder, ::getpid(), attempt);
    b.fd = ::open(b.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (b.fd < 0 && errno != EEXIST) break;
  }
  return b;
}

std::string replace_file(std::string const& path, std::string_view content, mode_t const* mode) {
  std::string const target = resolved(path);
  Beside const b = create_beside(folder_of(target));
  if (b.fd < 0) return failure(path, errno);
  int error = write_all(b.fd, content);
  if (error == 0 && mode != nullptr && ::fchmod(b.fd, *mode & 07777) != 0) error = errno;
  if (error == 0 && ::fsync(b.fd) != 0) error = errno;
  if (::close(b.fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(b.path.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(b.path.c_str());
  return failure(path, error);
}

}  // namespace

std::string write_file(std::string const& path, std::string const& content) {
  if (path == "-" || path == "/dev/stdout") {
    int const error = write_all(STDOUT_FILENO, content);
    return error == 0 ? std::string() : failure("standard output", error);
  }
  if (path.empty()) return "cannot write a file without a name";
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return failure(path, errno);
    return replace_file(path, content, nullptr);
  }
  if (S_ISDIR(status.st_mode)) return failure(path, EISDIR);
  if (!S_ISREG(status.st_mode)) return write_in_place(path, content);
  if (::access(path.c_str(), W_OK) != 0) return failure(path, errno);
  mode_t const mode = status.st_mode;
  return replace_file(path, content, &mode);
}

}  // namespace rollcast
