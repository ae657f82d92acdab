// Arguments of declarations as a user types them: NAME=VALUE.
//
//   value = "true" | "false" | integer | "[" text *( "," text ) "]" | text
//
// An integer goes out as a 64-bit 'l', a list as an array of long strings, text as a long string.
#pragma once

#include <string>
#include <string_view>

#include "broker/amqp/field_table.h"
#include "broker/runtime/status.h"
#include "tools/perf/options.h"

namespace ringtail::perf {

amqp::FieldValue parse_argument(std::string_view value);

// Names are at most 255 bytes.
runtime::Status check_arguments(const ArgumentList& arguments);

// The entries of the table, for the methods of broker/amqp/methods.h.
std::string encode_arguments(const ArgumentList& arguments);

}  // namespace ringtail::perf
