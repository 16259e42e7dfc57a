// The server's program.
#include "server/fold_process.h"
#include "server/options.h"
#include "server/server.h"

#include <cstdio>

int main(int argc, char** argv) {
  const holdfast::CommandLine line = holdfast::read_command_line(argc, argv);
  if (line.leave) {
    std::fputs(line.text.c_str(), line.exit_status == 0 ? stdout : stderr);
    return line.exit_status;
  }
  if (line.fold) return holdfast::run_fold(*line.fold);
  return holdfast::run_server(line);
}
