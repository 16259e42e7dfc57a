// The option --postgres of holdfastctl's commands that look into the database. No state; any thread.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace holdfast {

/// --postgres URL, else HOLDFAST_POSTGRES.
void add_postgres_option(CLI::App& app, std::string& url);

}  // namespace holdfast
