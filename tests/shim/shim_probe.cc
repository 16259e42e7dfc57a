// A program to run under libholdfast_shim.so: does the steps of its command line, tells how each went, and may
// kill itself in between. shim_test.py drives it.
//
//   shim_probe DIRECTORY STEP...
//
//   create:NAME open:NAME durable:NAME direct:NAME   opens; later steps on NAME use that descriptor
//   write:NAME:BLOCK:COUNT:VALUE                     blocks of 4 KiB full of the byte VALUE
//   truncate:NAME:BLOCKS sync:NAME close:NAME syncdir rename:FROM:TO unlink:NAME kill
//   read:NAME                                        prints the first byte of each sector
//   threads:COUNT                                    each writes a file of its own for ever, acknowledging
//   durable blocks
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kSectorBytes = 512;
constexpr long kThreadBlocks = 128;

using Words = std::vector<std::string>;

std::string directory;
std::map<std::string, int> descriptors;

std::string path(const std::string& name) { return directory + "/" + name; }

Words split(const std::string& step) {
  Words words;
  for (std::size_t begin = 0; begin <= step.size();) {
    const std::size_t end = std::min(step.find(':', begin), step.size());
    words.push_back(step.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

struct AlignedBlocks {
  AlignedBlocks(std::size_t count, int value)
      : bytes(static_cast<char*>(std::aligned_alloc(kBlockBytes, count * kBlockBytes))) {
    std::memset(bytes, value, count * kBlockBytes);
  }
  ~AlignedBlocks() { std::free(bytes); }
  AlignedBlocks(const AlignedBlocks&) = delete;
  AlignedBlocks& operator=(const AlignedBlocks&) = delete;
  char* bytes;
};

long open_as(const Words& words) {
  const std::map<std::string, int> flags = {{"create", O_RDWR | O_CREAT | O_EXCL},
                                            {"open", O_RDWR},
                                            {"durable", O_RDWR | O_DIRECT | O_DSYNC},
                                            {"direct", O_RDONLY | O_DIRECT}};
  const int fd = ::open(path(words[1]).c_str(), flags.at(words[0]), 0600);
  if (fd >= 0) descriptors[words[1]] = fd;
  return fd < 0 ? -1 : 0;
}

long write_blocks(const Words& words) {
  const std::size_t count = std::stoul(words[3]);
  const AlignedBlocks blocks(count, std::stoi(words[4]));
  const auto offset = static_cast<off_t>(std::stoul(words[2]) * kBlockBytes);
  return ::pwrite(descriptors.at(words[1]), blocks.bytes, count * kBlockBytes, offset);
}

long read_sectors(const Words& words) {
  const int fd = descriptors.at(words[1]);
  struct stat status {};
  ::fstat(fd, &status);
  const AlignedBlocks blocks(static_cast<std::size_t>(status.st_size) / kBlockBytes + 1, 0);
  const auto got = ::pread(fd, blocks.bytes, static_cast<std::size_t>(status.st_size) / kBlockBytes * kBlockBytes, 0);
  for (ssize_t at = 0; at < got; at += static_cast<ssize_t>(kSectorBytes)) {
    std::printf("%d ", static_cast<unsigned char>(blocks.bytes[at]));
  }
  std::printf("\n");
  return got;
}

long sync_directory() {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  const int result = ::fsync(fd);
  const int failed = errno;
  ::close(fd);
  errno = failed;
  return result;
}

/// Blocks 1, 2, ... of one file; odd threads by O_DSYNC, even ones by fdatasync.
void write_for_ever(int number) {
  const std::string name = path("thread" + std::to_string(number));
  const int fd = ::open(name.c_str(), number % 2 == 1 ? O_RDWR | O_DIRECT | O_DSYNC : O_RDWR);
  for (long block = 1;; ++block) {
    const AlignedBlocks bytes(1, static_cast<int>(block % 255 + 1));
    if (::pwrite(fd, bytes.bytes, kBlockBytes, block % kThreadBlocks * static_cast<long>(kBlockBytes)) < 0)
      std::abort();
    if (number % 2 == 0 && ::fdatasync(fd) != 0) std::abort();
    std::array<char, 64> line;
    const int size = std::snprintf(line.data(), line.size(), "ack %d %ld\n", number, block);
    if (::write(STDOUT_FILENO, line.data(), static_cast<std::size_t>(size)) != size) std::abort();
  }
}

long run_threads(int count) {
  const AlignedBlocks zeros(static_cast<std::size_t>(kThreadBlocks), 0);
  for (int number = 0; number < count; ++number) {
    const int fd = ::open(path("thread" + std::to_string(number)).c_str(), O_RDWR | O_CREAT, 0600);
    if (::pwrite(fd, zeros.bytes, static_cast<std::size_t>(kThreadBlocks) * kBlockBytes, 0) < 0 || ::fsync(fd) != 0)
      return -1;
    ::close(fd);
  }
  if (sync_directory() != 0) return -1;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int number = 0; number < count; ++number) threads.emplace_back(write_for_ever, number);
  for (std::thread& thread : threads) thread.join();
  return 0;
}

long run(const Words& words) {
  const std::string& verb = words[0];
  if (verb == "create" || verb == "open" || verb == "durable" || verb == "direct") return open_as(words);
  if (verb == "write") return write_blocks(words);
  if (verb == "read") return read_sectors(words);
  if (verb == "truncate")
    return ::ftruncate(descriptors.at(words[1]), std::stol(words[2]) * static_cast<long>(kBlockBytes));
  if (verb == "sync") return ::fdatasync(descriptors.at(words[1]));
  if (verb == "close") return ::close(descriptors.at(words[1]));
  if (verb == "syncdir") return sync_directory();
  if (verb == "rename") return ::rename(path(words[1]).c_str(), path(words[2]).c_str());
  if (verb == "unlink") return ::unlink(path(words[1]).c_str());
  if (verb == "threads") return run_threads(std::stoi(words[1]));
  return ::kill(::getpid(), SIGKILL);
}

}  // namespace

int main(int count, char** words) {
  directory = words[1];
  for (int step = 2; step < count; ++step) {
    errno = 0;
    const long result = run(split(words[step]));
    std::printf("%s %ld %s\n", words[step], result, result < 0 ? ::strerrorname_np(errno) : "ok");
    std::fflush(stdout);
  }
  return 0;
}
