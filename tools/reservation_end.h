// Ends a reservation at the server for a person who decided that it is not to be. Blocking; one thread.
#pragma once

#include "tools/resp_client.h"

namespace holdfast {

/// RELEASE or REFUND, whatever is possible; one that has ended by itself, also meanwhile, is left as it is. `write_off`: its units
/// leave the total. RESERVED or CONFIRMED: the state out of which it was ended; another one: how it had ended; empty: the server
/// does not know it (any more). Errors: err, with the server's answer, when it refuses.
Result<std::string> end_reservation(RespClient& client, const std::string& item, const std::string& id, bool write_off);

}  // namespace holdfast
