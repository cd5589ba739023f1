// Writes JSON. Parts may be written separately and put together with Raw().
//
//   JsonWriter json;
//   json.StartObject();
//   json.Member("name").String("x");
//   json.EndObject();
#ifndef GRAPHNET_FORMATS_PT2_JSON_WRITER_H_
#define GRAPHNET_FORMATS_PT2_JSON_WRITER_H_

#include <cmath>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graphnet/formats/pt2/json.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace graphnet::pt2 {

// Appends values to a text; the caller keeps them in a valid order.
class JsonWriter {
 public:
  // Writes the name of an object's member; its value comes next.
  JsonWriter& Member(absl::string_view name) {
    writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    return *this;
  }
  void StartObject() { writer_.StartObject(); }
  void EndObject() { writer_.EndObject(); }
  void StartArray() { writer_.StartArray(); }
  void EndArray() { writer_.EndArray(); }
  void Null() { writer_.Null(); }
  void Bool(bool value) { writer_.Bool(value); }
  void Int(int64_t value) { writer_.Int64(value); }
  // Writes a string for a number that JSON cannot write: NaN or an infinity.
  void Float(double value) {
    if (std::isfinite(value)) {
      writer_.Double(value);
    } else {
      String(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    }
  }
  void String(absl::string_view text) {
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  // Writes a whole value that is already JSON.
  void Raw(absl::string_view json) {
    writer_.RawValue(json.data(), json.size(), rapidjson::kObjectType);
  }

  // Writes a parsed value; an absent one becomes null.
  void Copy(Json value) {
    if (value.is_null()) return Null();
    switch (value.kind()) {
      case Json::Kind::kNull: return Null();
      case Json::Kind::kBool: return Bool(*value.Bool());
      case Json::Kind::kInt: return Int(*value.Int());
      case Json::Kind::kDouble: return Float(*value.Float());
      case Json::Kind::kString: return String(*value.String());
      case Json::Kind::kArray:
        StartArray();
        for (const Json element : value.elements()) Copy(element);
        return EndArray();
      case Json::Kind::kObject:
        StartObject();
        value
            .ForEachMember([this](absl::string_view name, Json member) {
              Member(name).Copy(member);
              return absl::OkStatus();
            })
            .IgnoreError();
        return EndObject();
    }
  }

  // The JSON so far.
  absl::string_view text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_JSON_WRITER_H_
