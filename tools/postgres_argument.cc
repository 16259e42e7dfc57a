#include "tools/postgres_argument.h"

#include <CLI/CLI.hpp>

namespace holdfast {

void add_postgres_option(CLI::App& app, std::string& url) {
  app.add_option("--postgres", url,
                 "The database, as libpq takes it, the password in PGPASSFILE; else HOLDFAST_POSTGRES holds it.")
      ->type_name("URL")
      ->envname("HOLDFAST_POSTGRES")
      ->required();
}

}  // namespace holdfast
