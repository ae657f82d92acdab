#include "broker/amqp/field_table.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "broker/amqp/wire.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"

namespace ringtail::amqp {

namespace {

// Sizes behind the type octet: a fixed size, or a 4-byte length and as much.
constexpr std::uint8_t kSized = 0xFE;
constexpr std::uint8_t kNoType = 0xFF;

constexpr std::uint8_t value_size(std::uint8_t type) {
  switch (type) {
    case 'V':
      return 0;
    case 't':
    case 'b':
    case 'B':
      return 1;
    case 's':
    case 'u':
      return 2;
    case 'I':
    case 'i':
    case 'f':
      return 4;
    case 'D':
      return 5;
    case 'l':
    case 'L':
    case 'd':
    case 'T':
      return 8;
    case 'S':
    case 'A':
    case 'F':
    case 'x':
      return kSized;
    default:
      return kNoType;
  }
}

// Takes a value, type octet first, off the front of `left`.
bool take_value(std::span<const std::uint8_t>& left, ValueView& value) {
  if (left.empty()) return false;
  const std::uint8_t type = left[0];
  const std::uint8_t fixed = value_size(type);
  std::size_t head = 1;
  std::size_t size = fixed;
  if (fixed == kNoType) return false;
  if (fixed == kSized) {
    if (left.size() < 5) return false;
    size = load_u32(left.data() + 1);
    head = 5;
  }
  if (left.size() - head < size) return false;
  value.type = type == 'L' ? FieldType::kLong : static_cast<FieldType>(type);
  value.data = left.subspan(head, size);
  left = left.subspan(head + size);
  return true;
}

bool take_name(std::span<const std::uint8_t>& left, std::string_view& name) {
  if (left.empty()) return false;
  const std::size_t size = left[0];
  if (left.size() - 1 < size) return false;
  name = text_at(left.data() + 1, size);
  left = left.subspan(1 + size);
  return true;
}

bool validate_items(std::span<const std::uint8_t> left, bool named, int depth) {
  if (depth > runtime::kTableDepthMax) return false;
  std::string_view name;
  ValueView value;
  while (!left.empty()) {
    if (named && !take_name(left, name)) return false;
    if (!take_value(left, value)) return false;
    const bool table = value.type == FieldType::kTable;
    if ((table || value.type == FieldType::kArray) &&
        !validate_items(value.data, table, depth + 1)) {
      return false;
    }
  }
  return true;
}

std::int64_t load_signed(std::span<const std::uint8_t> data) {
  switch (data.size()) {
    case 1:
      return static_cast<std::int8_t>(data[0]);
    case 2:
      return static_cast<std::int16_t>(load_u16(data.data()));
    case 4:
      return static_cast<std::int32_t>(load_u32(data.data()));
    default:
      return static_cast<std::int64_t>(load_u64(data.data()));
  }
}

// Both recurse no deeper than validate_items() allowed.
FieldArray decode_array(std::span<const std::uint8_t> items);
FieldTable decode_table(std::span<const std::uint8_t> entries);

FieldArray decode_array(std::span<const std::uint8_t> items) {
  FieldArray array;
  ArrayWalk walk(items);
  ValueView value;
  while (walk.next(value)) array.add(value.decode());
  return array;
}

FieldTable decode_table(std::span<const std::uint8_t> entries) {
  FieldTable table;
  TableWalk walk(entries);
  std::string_view name;
  ValueView value;
  while (walk.next(name, value)) {
    table.entries().push_back(FieldEntry{std::string(name), value.decode()});
  }
  return table;
}

}  // namespace

const char* type_name(FieldType type) {
  switch (type) {
    case FieldType::kBool:
      return "bool";
    case FieldType::kByte:
      return "byte";
    case FieldType::kUnsignedByte:
      return "unsignedbyte";
    case FieldType::kShort:
      return "short";
    case FieldType::kUnsignedShort:
      return "unsignedshort";
    case FieldType::kSignedInt:
      return "signedint";
    case FieldType::kUnsignedInt:
      return "unsignedint";
    case FieldType::kLong:
      return "long";
    case FieldType::kFloat:
      return "float";
    case FieldType::kDouble:
      return "double";
    case FieldType::kDecimal:
      return "decimal";
    case FieldType::kLongString:
      return "longstr";
    case FieldType::kArray:
      return "array";
    case FieldType::kTimestamp:
      return "timestamp";
    case FieldType::kTable:
      return "table";
    case FieldType::kVoid:
      return "void";
    case FieldType::kBinary:
      return "binary";
  }
  return "unknown";
}

bool validate_table(std::span<const std::uint8_t> entries) {
  return validate_items(entries, true, 1);
}

bool TableWalk::next(std::string_view& name, ValueView& value) {
  if (left_.empty() || !ok_) return false;
  ok_ = take_name(left_, name) && take_value(left_, value);
  return ok_;
}

bool ArrayWalk::next(ValueView& value) {
  if (left_.empty() || !ok_) return false;
  ok_ = take_value(left_, value);
  return ok_;
}

std::optional<ValueView> find_in_table(std::span<const std::uint8_t> entries,
                                       std::string_view name) {
  TableWalk walk(entries);
  std::string_view found;
  ValueView value;
  while (walk.next(found, value)) {
    if (found == name) return value;
  }
  return std::nullopt;
}

// --- ValueView ---

std::optional<bool> ValueView::as_bool() const {
  if (type != FieldType::kBool) return std::nullopt;
  return data[0] != 0;
}

std::optional<std::int64_t> ValueView::as_int() const {
  switch (type) {
    case FieldType::kByte:
    case FieldType::kShort:
    case FieldType::kSignedInt:
    case FieldType::kLong:
      return load_signed(data);
    case FieldType::kUnsignedByte:
      return data[0];
    case FieldType::kUnsignedShort:
      return load_u16(data.data());
    case FieldType::kUnsignedInt:
      return load_u32(data.data());
    case FieldType::kBool:
    case FieldType::kFloat:
    case FieldType::kDouble:
    case FieldType::kDecimal:
    case FieldType::kLongString:
    case FieldType::kArray:
    case FieldType::kTimestamp:
    case FieldType::kTable:
    case FieldType::kVoid:
    case FieldType::kBinary:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> ValueView::as_double() const {
  if (type == FieldType::kFloat) {
    return static_cast<double>(std::bit_cast<float>(load_u32(data.data())));
  }
  if (type == FieldType::kDouble) return std::bit_cast<double>(load_u64(data.data()));
  return std::nullopt;
}

std::optional<std::string_view> ValueView::as_text() const {
  if (type != FieldType::kLongString) return std::nullopt;
  return runtime::as_text(data);
}

std::optional<std::uint64_t> ValueView::as_timestamp() const {
  if (type != FieldType::kTimestamp) return std::nullopt;
  return load_u64(data.data());
}

std::optional<std::span<const std::uint8_t>> ValueView::as_table() const {
  if (type != FieldType::kTable) return std::nullopt;
  return data;
}

std::optional<std::span<const std::uint8_t>> ValueView::as_array() const {
  if (type != FieldType::kArray) return std::nullopt;
  return data;
}

FieldValue ValueView::decode() const {
  switch (type) {
    case FieldType::kBool:
      return data[0] != 0;
    case FieldType::kByte:
      return static_cast<std::int8_t>(data[0]);
    case FieldType::kUnsignedByte:
      return data[0];
    case FieldType::kShort:
      return static_cast<std::int16_t>(load_u16(data.data()));
    case FieldType::kUnsignedShort:
      return load_u16(data.data());
    case FieldType::kSignedInt:
      return static_cast<std::int32_t>(load_u32(data.data()));
    case FieldType::kUnsignedInt:
      return load_u32(data.data());
    case FieldType::kLong:
      return static_cast<std::int64_t>(load_u64(data.data()));
    case FieldType::kFloat:
      return std::bit_cast<float>(load_u32(data.data()));
    case FieldType::kDouble:
      return std::bit_cast<double>(load_u64(data.data()));
    case FieldType::kDecimal:
      return Decimal{data[0], load_u32(data.data() + 1)};
    case FieldType::kLongString:
      return std::string(runtime::as_text(data));
    case FieldType::kArray:
      return decode_array(data);
    case FieldType::kTimestamp:
      return Timestamp{load_u64(data.data())};
    case FieldType::kTable:
      return decode_table(data);
    case FieldType::kVoid:
      return Void{};
    case FieldType::kBinary:
      return Binary{std::string(runtime::as_text(data))};
  }
  return Void{};
}

// --- FieldArray, FieldTable, FieldValue ---

FieldArray::FieldArray() = default;
FieldArray::FieldArray(std::vector<FieldValue> items) : items_(std::move(items)) {}
FieldArray::FieldArray(const FieldArray&) = default;
FieldArray::FieldArray(FieldArray&&) noexcept = default;
FieldArray& FieldArray::operator=(const FieldArray&) = default;
FieldArray& FieldArray::operator=(FieldArray&&) noexcept = default;
FieldArray::~FieldArray() = default;

FieldTable::FieldTable() = default;
FieldTable::FieldTable(const FieldTable&) = default;
FieldTable::FieldTable(FieldTable&&) noexcept = default;
FieldTable& FieldTable::operator=(const FieldTable&) = default;
FieldTable& FieldTable::operator=(FieldTable&&) noexcept = default;
FieldTable::~FieldTable() = default;

FieldValue::FieldValue() noexcept = default;
FieldValue::FieldValue(const FieldValue&) = default;
FieldValue::FieldValue(FieldValue&&) noexcept = default;
FieldValue& FieldValue::operator=(const FieldValue&) = default;
FieldValue& FieldValue::operator=(FieldValue&&) noexcept = default;
FieldValue::~FieldValue() = default;

FieldValue::FieldValue(Void value) : value_(value) {}
FieldValue::FieldValue(bool value) : value_(value) {}
FieldValue::FieldValue(std::int8_t value) : value_(value) {}
FieldValue::FieldValue(std::uint8_t value) : value_(value) {}
FieldValue::FieldValue(std::int16_t value) : value_(value) {}
FieldValue::FieldValue(std::uint16_t value) : value_(value) {}
FieldValue::FieldValue(std::int32_t value) : value_(value) {}
FieldValue::FieldValue(std::uint32_t value) : value_(value) {}
FieldValue::FieldValue(std::int64_t value) : value_(value) {}
FieldValue::FieldValue(float value) : value_(value) {}
FieldValue::FieldValue(double value) : value_(value) {}
FieldValue::FieldValue(Decimal value) : value_(value) {}
FieldValue::FieldValue(std::string value) : value_(std::move(value)) {}
FieldValue::FieldValue(std::string_view value) : value_(std::string(value)) {}
FieldValue::FieldValue(const char* value) : value_(std::string(value)) {}
FieldValue::FieldValue(Binary value) : value_(std::move(value)) {}
FieldValue::FieldValue(Timestamp value) : value_(value) {}
FieldValue::FieldValue(FieldArray value) : value_(std::move(value)) {}
FieldValue::FieldValue(FieldTable value) : value_(std::move(value)) {}

const FieldTable* FieldValue::as_table() const { return std::get_if<FieldTable>(&value_); }
const FieldArray* FieldValue::as_array() const { return std::get_if<FieldArray>(&value_); }

bool FieldArray::operator==(const FieldArray& other) const { return items_ == other.items_; }
bool FieldTable::operator==(const FieldTable& other) const { return entries_ == other.entries_; }

std::optional<FieldArray> FieldArray::decode(std::span<const std::uint8_t> items) {
  if (!validate_items(items, false, 1)) return std::nullopt;
  return decode_array(items);
}

FieldArray& FieldArray::add(FieldValue value) {
  items_.push_back(std::move(value));
  return *this;
}

std::optional<FieldTable> FieldTable::decode(std::span<const std::uint8_t> entries) {
  if (!validate_table(entries)) return std::nullopt;
  return decode_table(entries);
}

bool FieldTable::empty() const { return entries_.empty(); }
std::size_t FieldTable::size() const { return entries_.size(); }

const FieldValue* FieldTable::find(std::string_view name) const {
  for (const FieldEntry& entry : entries_) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

FieldTable& FieldTable::set(std::string_view name, FieldValue value) {
  for (FieldEntry& entry : entries_) {
    if (entry.name != name) continue;
    entry.value = std::move(value);
    return *this;
  }
  entries_.push_back(FieldEntry{std::string(name), std::move(value)});
  return *this;
}

FieldTable& FieldTable::prepend(std::string_view name, FieldValue value) {
  entries_.insert(entries_.begin(), FieldEntry{std::string(name), std::move(value)});
  return *this;
}

bool FieldTable::erase(std::string_view name) {
  return std::erase_if(entries_, [&](const FieldEntry& entry) { return entry.name == name; }) != 0;
}

namespace {

void append_number(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xFF));
  }
}

void append_sized(std::string& out, std::string_view bytes) {
  append_number(out, bytes.size(), 4);
  out += bytes;
}

void append_value(std::string& out, const FieldValue& value) {
  out.push_back(static_cast<char>(value.type()));
  std::visit(
      [&out](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>) {
          out.push_back(held ? 1 : 0);
        } else if constexpr (std::is_integral_v<Held>) {
          append_number(out, static_cast<std::uint64_t>(held), sizeof(Held));
        } else if constexpr (std::is_same_v<Held, float>) {
          append_number(out, std::bit_cast<std::uint32_t>(held), 4);
        } else if constexpr (std::is_same_v<Held, double>) {
          append_number(out, std::bit_cast<std::uint64_t>(held), 8);
        } else if constexpr (std::is_same_v<Held, Decimal>) {
          out.push_back(static_cast<char>(held.scale));
          append_number(out, held.value, 4);
        } else if constexpr (std::is_same_v<Held, std::string>) {
          append_sized(out, held);
        } else if constexpr (std::is_same_v<Held, Binary>) {
          append_sized(out, held.bytes);
        } else if constexpr (std::is_same_v<Held, Timestamp>) {
          append_number(out, held.seconds, 8);
        } else if constexpr (!std::is_same_v<Held, Void>) {
          append_sized(out, held.encode());
        }
      },
      value.variant());
}

}  // namespace

std::string FieldArray::encode() const {
  std::string out;
  for (const FieldValue& value : items_) append_value(out, value);
  return out;
}

std::string FieldTable::encode() const {
  std::string out;
  for (const FieldEntry& entry : entries_) {
    const std::size_t size = short_string_size(entry.name);
    out.push_back(static_cast<char>(size));
    out.append(entry.name, 0, size);
    append_value(out, entry.value);
  }
  return out;
}

FieldType FieldValue::type() const {
  // In the order of the variant.
  static constexpr FieldType kTypes[] = {
      FieldType::kVoid,         FieldType::kBool,        FieldType::kByte,
      FieldType::kUnsignedByte, FieldType::kShort,       FieldType::kUnsignedShort,
      FieldType::kSignedInt,    FieldType::kUnsignedInt, FieldType::kLong,
      FieldType::kFloat,        FieldType::kDouble,      FieldType::kDecimal,
      FieldType::kLongString,   FieldType::kBinary,      FieldType::kTimestamp,
      FieldType::kArray,        FieldType::kTable,
  };
  static_assert(std::size(kTypes) == std::variant_size_v<Variant>);
  return kTypes[value_.index()];
}

std::optional<bool> FieldValue::as_bool() const {
  const bool* held = std::get_if<bool>(&value_);
  return held == nullptr ? std::nullopt : std::optional<bool>(*held);
}

std::optional<std::int64_t> FieldValue::as_int() const {
  return std::visit(
      [](const auto& held) -> std::optional<std::int64_t> {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_integral_v<Held> && !std::is_same_v<Held, bool>) {
          return static_cast<std::int64_t>(held);
        } else {
          return std::nullopt;
        }
      },
      value_);
}

std::optional<double> FieldValue::as_double() const {
  if (const float* held = std::get_if<float>(&value_)) return static_cast<double>(*held);
  if (const double* held = std::get_if<double>(&value_)) return *held;
  return std::nullopt;
}

std::optional<std::string_view> FieldValue::as_text() const {
  const std::string* held = std::get_if<std::string>(&value_);
  return held == nullptr ? std::nullopt : std::optional<std::string_view>(*held);
}

bool FieldValue::operator==(const FieldValue& other) const {
  if (value_.index() != other.value_.index()) return false;
  if (const float* held = std::get_if<float>(&value_)) {
    return std::bit_cast<std::uint32_t>(*held) ==
           std::bit_cast<std::uint32_t>(std::get<float>(other.value_));
  }
  if (const double* held = std::get_if<double>(&value_)) {
    return std::bit_cast<std::uint64_t>(*held) ==
           std::bit_cast<std::uint64_t>(std::get<double>(other.value_));
  }
  return value_ == other.value_;
}

}  // namespace ringtail::amqp
