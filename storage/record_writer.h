// Encodes one record at the end of a buffer. Pure; any thread. Allocates only while the buffer grows.
#pragma once

#include "storage/record.h"

#include <cstddef>
#include <vector>

namespace holdfast {

/// `offset_ms`: of the record's stamp after the last CLOCK record, for both clocks.
/// REQUIRES of all: names and texts within the limits of storage/limits.h.
void write_clock(std::vector<std::byte>& out, HoldTime hold, WallTime wall);
void write_item(std::vector<std::byte>& out, std::uint16_t offset_ms, const RecordStamp& stamp,
                const ItemRecord& record);
void write_reservation(std::vector<std::byte>& out, std::uint16_t offset_ms, const RecordStamp& stamp,
                       const ReservationRecord& record);
void write_forget(std::vector<std::byte>& out, std::uint16_t offset_ms, const RecordStamp& stamp,
                  const ForgetRecord& record);
void write_default_returns(std::vector<std::byte>& out, std::uint16_t offset_ms, const DefaultReturnsRecord& record);

}  // namespace holdfast
