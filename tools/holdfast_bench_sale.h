// `holdfast-bench sale`: a flash sale, and what came of it. One thread.
#pragma once

#include "tools/bench_sale.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace holdfast {

struct SaleArguments {
  SaleLoad load;
  std::string server = "127.0.0.1:7379";
  std::string user;
  std::string secret_file;
  std::uint64_t units = 10'000;
  bool existing = false;  // the item is there already
  bool json = false;
};

/// Tells CLI11 of the subcommand; returns it.
CLI::App* add_sale_command(CLI::App& app, SaleArguments& arguments);

/// Creates the item unless it is there, runs the sale, prints what came of it and whether the law holds. The process's exit
/// status: 0; 1 when the sale or the law failed; 2 for wrong arguments.
int sale_command(SaleArguments& arguments);

}  // namespace holdfast
