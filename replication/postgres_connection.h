// One connection to a PostgreSQL server: the shell around libpqxx, which decides nothing. Blocking; one thread.
//
// libpqxx 6.4 reconnects by itself, and what is lost with the old session would not be noticed: here it may not, and after
// an error the object is of no use; a new one is a new session.
#pragma once

#include "protocol/error.h"
#include "replication/socket_interrupt.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// Text of a statement with $1 ... and the name under which a session keeps it prepared.
struct SqlStatement {
  std::string name;
  std::string text;
};

using SqlRow = std::vector<std::optional<std::string>>;

/// What came of a statement.
struct SqlAnswer {
  std::vector<SqlRow> rows;
  std::uint64_t affected = 0;
  std::string refused;  // what a constraint, column or trigger said against it, one line; else empty. Only of try_run
};

class PostgresConnection {
 public:
  /// `url` is a URI or "key=value ..." as libpq takes it. What it does not say: sslmode=verify-full, a server that can be
  /// written, application_name holdfast-relay, time limits for statements, locks and idle transactions. Errors:
  /// bad_option for a url that cannot be read or carries a password (which belongs into PGPASSFILE or passfile=);
  /// io_failed when the server cannot be reached or refuses. `interrupt`: of one connection at a time, which it outlives;
  /// who is just connecting waits for that, at most the url's connect_timeout.
  static Result<std::unique_ptr<PostgresConnection>> connect(const std::string& url,
                                                             SocketInterrupt* interrupt = nullptr);
  /// Whether a url can be read, before anything is connected. Errors: bad_option.
  static Result<void> check_url(const std::string& url);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // Errors of these: `unsupported` when a table, column or right is missing, or a row is refused; no_space; else
  // io_failed, after which it is not known whether a commit took place.
  /// What an error left open is rolled back.
  Result<void> begin();
  Result<void> commit();
  /// REQUIRES of these: begun, not committed.
  /// Has the server look at the statement without running it.
  Result<void> prepare(const SqlStatement& statement);
  Result<SqlAnswer> run(const SqlStatement& statement, const std::vector<std::string>& parameters);
  /// That a constraint, a column or a trigger refuses a row is an outcome, not an error. Only in a part, which the caller takes
  /// back then.
  Result<SqlAnswer> try_run(const SqlStatement& statement, const std::vector<std::string>& parameters);
  /// Statements without parameters or rows, separated by semicolons.
  Result<void> execute(const std::string& script);

  // A part of the transaction that can be taken back; parts may be in parts. Outside of one, constraints that can be deferred
  // are checked with each statement; in one, when it is kept, so that rows which are right only together are one part.
  Result<void> begin_part();
  /// Keeps it, or takes it back. What a deferred constraint says against keeping it, in which case it is taken back, too;
  /// else empty.
  Result<std::string> end_part(bool keep);

 private:
  class Guard;
  class Impl;
  explicit PostgresConnection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
