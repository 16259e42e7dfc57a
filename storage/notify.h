// Tells the service manager how the server is, as systemd's sd_notify does, without its library.
#pragma once

#include <string_view>

namespace holdfast {

/// Sends "READY=1" and the like to the socket that NOTIFY_SOCKET names; nothing when there is none.
void notify_manager(std::string_view state) noexcept;

}  // namespace holdfast
