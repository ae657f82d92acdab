// Field tables (AMQP 0-9-1, 4.2.5.5) with RabbitMQ's value types, which differ from the text of the
// specification: 's' is a signed 16-bit number, not a short string; 'L' is read as 'l'; 'x' is a
// byte array; 'u' and 'i' are unsigned. (rabbitmq.com/amqp-0-9-1-errata, section 3.)
//
// Three ways to look at one, from cheap to comfortable:
//   validate_table()  is it well formed at all
//   find_in_table()   one value, in place, without allocation
//   FieldTable        the whole decoded, for what is kept or built
//
// A table here is always its entries without the 4-byte length in front of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ringtail::amqp {

// The type octet on the wire.
enum class FieldType : std::uint8_t {
  kBool = 't',
  kByte = 'b',  // signed
  kUnsignedByte = 'B',
  kShort = 's',  // signed
  kUnsignedShort = 'u',
  kSignedInt = 'I',
  kUnsignedInt = 'i',
  kLong = 'l',  // signed; 'L' is read as the same
  kFloat = 'f',
  kDouble = 'd',
  kDecimal = 'D',
  kLongString = 'S',
  kArray = 'A',
  kTimestamp = 'T',
  kTable = 'F',
  kVoid = 'V',
  kBinary = 'x',
};

// RabbitMQ's name of a type, as its error texts have it: "longstr", "long", "signedint" ...
const char* type_name(FieldType type);

// Whether `entries` are a well formed table: every length inside its bounds, known types only, no
// deeper than runtime::kTableDepthMax. Names may repeat (the first one counts).
bool validate_table(std::span<const std::uint8_t> entries);

// --- in place ---

class FieldValue;

// A value where it lies; slices the table.
struct ValueView {
  FieldType type = FieldType::kVoid;
  // The bytes of the value; of strings, tables and arrays those behind their length.
  std::span<const std::uint8_t> data;

  std::optional<bool> as_bool() const;
  // Any of the integer types (not timestamp, not decimal); unsigned ones fit too.
  std::optional<std::int64_t> as_int() const;
  // float and double.
  std::optional<double> as_double() const;
  // longstr only.
  std::optional<std::string_view> as_text() const;
  std::optional<std::uint64_t> as_timestamp() const;
  // The entries of a table; the items of an array.
  std::optional<std::span<const std::uint8_t>> as_table() const;
  std::optional<std::span<const std::uint8_t>> as_array() const;

  // The same decoded. The view must come from a table that validate_table() accepts.
  FieldValue decode() const;
};

// The first value of that name; none when there is no such name or the table is malformed before
// it.
std::optional<ValueView> find_in_table(std::span<const std::uint8_t> entries,
                                       std::string_view name);

// Walks the entries of a table in order: while (walk.next(name, value)) ...
// next() is false at the end and at the first malformed entry; ok() tells which.
class TableWalk {
 public:
  explicit TableWalk(std::span<const std::uint8_t> entries) : left_(entries) {}
  bool next(std::string_view& name, ValueView& value);
  bool ok() const { return ok_; }

 private:
  std::span<const std::uint8_t> left_;
  bool ok_ = true;
};

// The same over the items of an array.
class ArrayWalk {
 public:
  explicit ArrayWalk(std::span<const std::uint8_t> items) : left_(items) {}
  bool next(ValueView& value);
  bool ok() const { return ok_; }

 private:
  std::span<const std::uint8_t> left_;
  bool ok_ = true;
};

// --- decoded ---

struct Void {
  bool operator==(const Void&) const = default;
};
// value / 10^scale.
struct Decimal {
  std::uint8_t scale = 0;
  std::uint32_t value = 0;
  bool operator==(const Decimal&) const = default;
};
struct Binary {
  std::string bytes;
  bool operator==(const Binary&) const = default;
};
// Seconds since 1970 (POSIX), 64 bits.
struct Timestamp {
  std::uint64_t seconds = 0;
  bool operator==(const Timestamp&) const = default;
};

class FieldArray {
 public:
  // Defined where FieldValue is complete.
  FieldArray();
  explicit FieldArray(std::vector<FieldValue> items);
  FieldArray(const FieldArray&);
  FieldArray(FieldArray&&) noexcept;
  FieldArray& operator=(const FieldArray&);
  FieldArray& operator=(FieldArray&&) noexcept;
  ~FieldArray();

  static std::optional<FieldArray> decode(std::span<const std::uint8_t> items);
  // The items without the length in front.
  std::string encode() const;
  FieldArray& add(FieldValue value);

  const std::vector<FieldValue>& items() const { return items_; }
  std::vector<FieldValue>& items() { return items_; }
  bool operator==(const FieldArray& other) const;

 private:
  std::vector<FieldValue> items_;
};

struct FieldEntry;

class FieldTable {
 public:
  // Defined where FieldEntry is complete.
  FieldTable();
  FieldTable(const FieldTable&);
  FieldTable(FieldTable&&) noexcept;
  FieldTable& operator=(const FieldTable&);
  FieldTable& operator=(FieldTable&&) noexcept;
  ~FieldTable();

  // None when validate_table() says no.
  static std::optional<FieldTable> decode(std::span<const std::uint8_t> entries);
  // The entries without the length in front, in the order they were decoded or set.
  std::string encode() const;

  // The first value of that name, or null.
  const FieldValue* find(std::string_view name) const;
  // Changes the first value of that name, or adds one at the end. A name is at most 255 bytes.
  FieldTable& set(std::string_view name, FieldValue value);
  // Puts one in front, as RabbitMQ does with what it adds to a message's headers.
  FieldTable& prepend(std::string_view name, FieldValue value);
  // Removes every value of that name; false when there was none.
  bool erase(std::string_view name);

  const std::vector<FieldEntry>& entries() const { return entries_; }
  std::vector<FieldEntry>& entries() { return entries_; }
  bool empty() const;
  std::size_t size() const;
  // Same entries of the same types in the same order.
  bool operator==(const FieldTable& other) const;

 private:
  std::vector<FieldEntry> entries_;
};

class FieldValue {
 public:
  using Variant = std::variant<Void, bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                               std::int32_t, std::uint32_t, std::int64_t, float, double, Decimal,
                               std::string, Binary, Timestamp, FieldArray, FieldTable>;

  // Here and below defined in the .cc: what a variant of so many makes is compiled once.
  FieldValue() noexcept;
  FieldValue(const FieldValue&);
  FieldValue(FieldValue&&) noexcept;
  FieldValue& operator=(const FieldValue&);
  FieldValue& operator=(FieldValue&&) noexcept;
  ~FieldValue();
  // Each type of the variant becomes the wire type of that width; a std::string a longstr.
  FieldValue(Void value);
  FieldValue(bool value);
  FieldValue(std::int8_t value);
  FieldValue(std::uint8_t value);
  FieldValue(std::int16_t value);
  FieldValue(std::uint16_t value);
  FieldValue(std::int32_t value);
  FieldValue(std::uint32_t value);
  FieldValue(std::int64_t value);
  FieldValue(float value);
  FieldValue(double value);
  FieldValue(Decimal value);
  FieldValue(std::string value);
  FieldValue(std::string_view value);
  FieldValue(const char* value);
  FieldValue(Binary value);
  FieldValue(Timestamp value);
  FieldValue(FieldArray value);
  FieldValue(FieldTable value);

  FieldType type() const;
  const Variant& variant() const { return value_; }
  Variant& variant() { return value_; }

  // As in ValueView; none when the value is of another kind.
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_int() const;
  std::optional<double> as_double() const;
  std::optional<std::string_view> as_text() const;
  const FieldTable* as_table() const;
  const FieldArray* as_array() const;

  // Same type, same value; floating point by its bits, so that NaN equals itself.
  bool operator==(const FieldValue& other) const;

 private:
  Variant value_;
};

struct FieldEntry {
  std::string name;
  FieldValue value;
  bool operator==(const FieldEntry&) const = default;
};

// --- as RabbitMQ compares and prints them ---

inline const char* type_name(const FieldValue& value) { return type_name(value.type()); }

// The value as RabbitMQ's error texts print it between quotes: 10, true, text as it is, tables and
// arrays as Erlang terms.
std::string to_text(const FieldValue& value);

// Whether two arguments count as equal in a redeclaration (rabbit_misc: assert_args_equivalence1):
// integers of all widths by value, float and double by value, everything else exactly.
bool equivalent(const FieldValue& a, const FieldValue& b);

// Compares the arguments of a redeclaration, `names` in order. The text of the first difference,
//   inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received '20' but current is '10'
// to go behind "PRECONDITION_FAILED - "; none when all are equal. `resource` is as resource_text()
// of errors.h. An x-queue-type of "classic" equals none.
std::optional<std::string> inequivalent_argument(const FieldTable& received,
                                                 const FieldTable& current,
                                                 std::span<const std::string_view> names,
                                                 std::string_view resource);

// The same for a plain field ("durable", "auto_delete", "type"): the values as text.
std::string inequivalent_field(std::string_view field, std::string_view resource,
                               std::string_view received, std::string_view current);

}  // namespace ringtail::amqp
