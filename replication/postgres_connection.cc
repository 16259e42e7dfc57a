#include "replication/postgres_connection.h"

#include "protocol/check.h"
#include "protocol/names.h"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <map>
#include <pqxx/pqxx>
#include <set>

namespace holdfast {
namespace {

/// What a connection says where its url does not. Times are those of a server that answers; a relay that was stopped in a
/// transaction must not hold its locks for long.
const std::map<std::string, std::string> kDefaults = {{"sslmode", "verify-full"},
                                                      {"target_session_attrs", "read-write"},
                                                      {"application_name", "holdfast-relay"},
                                                      {"connect_timeout", "10"},
                                                      {"keepalives_idle", "30"},
                                                      {"keepalives_interval", "10"},
                                                      {"keepalives_count", "3"},
                                                      {"tcp_user_timeout", "60000"},
                                                      {"client_encoding", "UTF8"}};
/// Plans are made for the tables as they are: one that was kept from when they were empty would read all of them each time.
constexpr const char* kSession =
    "SET plan_cache_mode = force_custom_plan; SET jit = off; SET synchronous_commit = on;"
    "SET statement_timeout = '30s'; SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '15s';"
    "SET timezone = 'UTC'; SET default_transaction_isolation = 'read committed'";

/// SQLSTATE's classes of what is said against values: too long, out of range; by constraints; and by a trigger's RAISE
/// EXCEPTION that gives no code of its own.
bool is_refusal(std::string_view sqlstate) {
  return sqlstate.starts_with("22") || sqlstate.starts_with("23") || sqlstate == "P0001";
}

// Prepared: libpqxx ends the transaction after an error of a text.
const SqlStatement kCheckNow{"check_now", "SET CONSTRAINTS ALL IMMEDIATE"};
constexpr const char* kBeginPart = "SAVEPOINT part; SET CONSTRAINTS ALL DEFERRED";
constexpr const char* kKeepPart = "RELEASE SAVEPOINT part";
constexpr const char* kTakeBackPart = "ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part";

std::string first_line(std::string_view text) {
  constexpr std::string_view kPrefix = "ERROR:";
  text = text.substr(0, text.find('\n'));
  if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
  while (text.starts_with(' ')) text.remove_prefix(1);
  return std::string(text);
}

/// A table, column, function or right that is missing does not appear by itself, and a constraint does not go away.
ErrorCode code_of(std::string_view sqlstate) {
  if (sqlstate == "53100") return ErrorCode::no_space;
  const bool missing = sqlstate.starts_with("42") || sqlstate.starts_with("3F");
  return missing || is_refusal(sqlstate) ? ErrorCode::unsupported : ErrorCode::io_failed;
}

constexpr std::array<std::string_view, 6> kSslModes = {"disable", "allow",     "prefer",
                                                       "require", "verify-ca", "verify-full"};

/// Of values that libpq would look at only when it connects.
bool is_valid(std::string_view name, std::string_view value) {
  if (name == "sslmode") return std::find(kSslModes.begin(), kSslModes.end(), value) != kSslModes.end();
  if (name != "port") return true;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    std::uint64_t port = 0;
    const bool given = end > begin;
    if (given && !(parse_canonical(value.substr(begin, end - begin), 65535, port) && port > 0)) return false;
    begin = end + 1;
  }
  return true;
}

/// libpq's own text of the parameters, with the defaults for those that the url leaves open.
Result<std::string> with_defaults(const std::string& url) {
  char* reason = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(PQconninfoParse(url.c_str(), &reason),
                                                                             PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> owned(reason, PQfreemem);
  if (options == nullptr) {
    return Error::format(ErrorCode::bad_option, "postgres: the url cannot be read: {}",
                         first_line(reason == nullptr ? "" : reason));
  }
  std::map<std::string, std::string> words = kDefaults;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    if (std::string_view(option->keyword) == "password") {
      return Error(
          ErrorCode::bad_option,
          "postgres: a password on the command line can be read by everybody; put it into a file and name that "
          "by passfile= or PGPASSFILE");
    }
    if (!is_valid(option->keyword, option->val)) {
      return Error::format(ErrorCode::bad_option, "postgres: {}={} in the url is not possible", option->keyword,
                           Echo(option->val).text());
    }
    words[option->keyword] = option->val;
  }
  std::string text;
  for (const auto& [name, value] : words) {
    text += name + "='";
    for (const char c : value) {
      if (c == '\'' || c == '\\') text += '\\';
      text += c;
    }
    text += "' ";
  }
  return text;
}

}  // namespace

/// Has the interrupt know the connection's socket as long as it is open.
class PostgresConnection::Guard {
 public:
  Guard(SocketInterrupt* interrupt, int fd) : interrupt_(interrupt) {
    if (interrupt_ != nullptr && !interrupt_->watch(fd)) throw pqxx::broken_connection("ended meanwhile");
  }
  ~Guard() {
    if (interrupt_ != nullptr) interrupt_->watch(-1);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  SocketInterrupt* interrupt_;
};

class PostgresConnection::Impl {
 public:
  Impl(const std::string& parameters, SocketInterrupt* interrupt)
      : connection_(parameters), guard_(interrupt, connection_.sock()) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    connection_.inhibit_reactivation(true);  // deprecated, since later versions never do
#pragma GCC diagnostic pop
    connection_.set_verbosity(pqxx::connection_base::terse);
    pqxx::nontransaction(connection_).exec(kSession);
  }

  void begin() {
    transaction_.reset();
    transaction_ = std::make_unique<pqxx::work>(connection_);
    run(kCheckNow, {});
  }

  void commit() {
    CHECK(transaction_);
    transaction_->commit();
    transaction_.reset();
  }

  void prepare(const SqlStatement& statement) {
    CHECK(transaction_);
    if (prepared_.insert(statement.name).second) connection_.prepare(statement.name, statement.text);
    connection_.prepare_now(statement.name);
  }

  SqlAnswer run(const SqlStatement& statement, const std::vector<std::string>& parameters) {
    CHECK(transaction_);
    if (prepared_.insert(statement.name).second) connection_.prepare(statement.name, statement.text);
    const auto result = transaction_->exec_prepared(statement.name, pqxx::prepare::make_dynamic_params(parameters));
    SqlAnswer answer;
    answer.affected = result.affected_rows();
    answer.rows.reserve(result.size());
    for (const auto& row : result) {
      SqlRow& to = answer.rows.emplace_back();
      for (const auto& field : row) {
        to.push_back(field.is_null() ? std::nullopt
                                     : std::optional<std::string>(std::string(field.c_str(), field.size())));
      }
    }
    return answer;
  }

  void execute(const std::string& script) {
    CHECK(transaction_);
    transaction_->exec(script);
  }

 private:
  pqxx::connection connection_;
  Guard guard_;
  std::unique_ptr<pqxx::work> transaction_;  // ends, by asking the server, before guard and connection do
  std::set<std::string> prepared_;
};

namespace {

/// Runs a call of libpqxx; what it throws becomes an error.
template <class Call>
auto guarded(const Call& call) -> Result<decltype(call())> {
  try {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return {};
    } else {
      return call();
    }
  } catch (const pqxx::in_doubt_error& error) {
    return Error::format(ErrorCode::io_failed, "postgres: whether the commit took place is not known: {}",
                         first_line(error.what()));
  } catch (const pqxx::sql_error& error) {
    return Error::format(code_of(error.sqlstate()), "postgres: {} ({})", first_line(error.what()), error.sqlstate());
  } catch (const std::exception& error) {
    return Error::format(ErrorCode::io_failed, "postgres: {}", first_line(error.what()));
  }
}

}  // namespace

PostgresConnection::PostgresConnection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PostgresConnection::~PostgresConnection() = default;

Result<void> PostgresConnection::check_url(const std::string& url) {
  HOLDFAST_TRY(with_defaults(url));
  return {};
}

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::connect(const std::string& url,
                                                                        SocketInterrupt* interrupt) {
  const auto parameters = with_defaults(url);
  if (!parameters) return parameters.error();
  auto impl = guarded([&] { return std::make_unique<Impl>(*parameters, interrupt); });
  if (!impl) return impl.error();
  return std::unique_ptr<PostgresConnection>(new PostgresConnection(std::move(*impl)));
}

Result<void> PostgresConnection::begin() {
  return guarded([this] { impl_->begin(); });
}

Result<void> PostgresConnection::commit() {
  return guarded([this] { impl_->commit(); });
}

Result<void> PostgresConnection::prepare(const SqlStatement& statement) {
  return guarded([&] { impl_->prepare(statement); });
}

Result<SqlAnswer> PostgresConnection::run(const SqlStatement& statement, const std::vector<std::string>& parameters) {
  return guarded([&] { return impl_->run(statement, parameters); });
}

Result<SqlAnswer> PostgresConnection::try_run(const SqlStatement& statement,
                                              const std::vector<std::string>& parameters) {
  return guarded([&] {
    try {
      return impl_->run(statement, parameters);
    } catch (const pqxx::sql_error& error) {
      if (!is_refusal(error.sqlstate())) throw;
      SqlAnswer answer;
      answer.refused = first_line(error.what());
      return answer;
    }
  });
}

Result<void> PostgresConnection::execute(const std::string& script) {
  return guarded([&] { impl_->execute(script); });
}

Result<void> PostgresConnection::begin_part() { return execute(kBeginPart); }

Result<std::string> PostgresConnection::end_part(bool keep) {
  return guarded([&] {
    std::string against;
    try {
      if (keep) impl_->run(kCheckNow, {});
    } catch (const pqxx::sql_error& error) {
      if (!is_refusal(error.sqlstate())) throw;
      against = first_line(error.what());
    }
    impl_->execute(keep && against.empty() ? kKeepPart : kTakeBackPart);
    return against;
  });
}

}  // namespace holdfast
