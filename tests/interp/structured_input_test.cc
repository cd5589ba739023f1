#include "graphnet/interp/structured_input.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "graphnet/interp/torch/annotation.h"
#include "graphnet/interp/torch/tensors.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using c10::IValue;

absl::StatusOr<IValue> ThereAndBack(const std::string& annotation, const IValue& value) {
  const auto type = ParseAnnotation(annotation);
  if (!type.ok()) return type.status();
  std::map<std::string, TensorData> values;
  absl::Status added = AddValues(value, *type, "x", &values);
  if (!added.ok()) return added;
  return MakeStructure(*type, "x", values, [](const std::string&, const TensorData& data) {
    return ToTensor(data, c10::Device(c10::kCPU));
  });
}

// What a value says of itself, and its type, are enough to build it again.
TEST(StructuredInputTest, ValuesAreBuiltFromTheirParts) {
  const at::Tensor bytes = at::tensor({97, 98}, at::kByte), zero = at::scalar_tensor(0, at::kLong);
  c10::impl::GenericDict dict(c10::StringType::get(), c10::IntType::get());
  dict.insert("b", 1);
  dict.insert("a", 2);
  c10::impl::GenericList lists(c10::ListType::ofInts());
  lists.push_back(IValue(std::vector<int64_t>{1, 2}));
  lists.push_back(IValue(std::vector<int64_t>{}));
  c10::impl::GenericList optionals(c10::OptionalType::ofTensor());
  optionals.push_back(IValue());
  optionals.push_back(IValue(zero));
  const IValue tuple = c10::ivalue::Tuple::create({IValue(1), IValue("a.b"), IValue(2.5)});
  const struct {
    const char* type;
    IValue value;
  } cases[] = {
      {"Tensor", bytes},
      {"complex", IValue(c10::complex<double>(1, 2))},
      {"Device", IValue(c10::Device("cuda:1"))},
      {"Tuple[int, str, float]", tuple},
      {"Dict[str, int]", IValue(dict)},
      {"List[List[int]]", IValue(lists)},
      {"List[Optional[Tensor]]", IValue(optionals)},
      {"Optional[Tuple[int, str, float]]", tuple},
      {"Any", tuple},
      {"Any", IValue(true)},
      {"Any", IValue(dict)},
      {"Any", IValue(bytes)},
      {"Union[Tensor, int]", IValue(3)},
      {"Union[Tensor, int]", IValue(zero)},
      {"Union[Tensor, str]", IValue("ab")},
      {"Union[Tensor, str]", IValue(bytes)},
      {"Union[Tensor, bool, NoneType]", IValue()},
      {"Union[Tensor, bool, NoneType]", IValue(true)},
      {"Union[List[Tensor], List[int]]", IValue(std::vector<int64_t>{1, 2})},
      {"Union[List[Tensor], List[int]]", IValue(std::vector<at::Tensor>{zero})},
      {"Union[List[int], Dict[str, int]]", IValue(dict)},
      {"Union[List[int], Tuple[int, str, float]]", tuple},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.type);
    const auto made = ThereAndBack(test.type, test.value);
    ASSERT_OK(made);
    if (test.value.isTensor()) {
      ASSERT_TRUE(made->isTensor()) << *made;
      EXPECT_TRUE(at::equal(made->toTensor(), test.value.toTensor()));
      EXPECT_EQ(made->toTensor().scalar_type(), test.value.toTensor().scalar_type());
      continue;
    }
    EXPECT_EQ(made->tagKind(), test.value.tagKind());
    EXPECT_EQ(c10::str(*made), c10::str(test.value));
  }
}

// Elements that say nothing of the structure fit the member whose elements they can be.
TEST(StructuredInputTest, ElementsChooseTheMember) {
  const auto type = ParseAnnotation("Union[List[Tensor], Dict[str, Tensor], Tuple[Tensor, int]]");
  ASSERT_OK(type);
  const auto make = [&](const std::map<std::string, at::Tensor>& tensors) {
    std::map<std::string, TensorData> values;
    for (const auto& [name, tensor] : tensors) values[name] = *ToTensorData(tensor);
    return MakeStructure(*type, "x", values, [](const std::string&, const TensorData& data) {
      return ToTensor(data, c10::Device(c10::kCPU));
    });
  };
  const at::Tensor ones = at::ones({2});
  EXPECT_TRUE(make({{"x.0", ones}, {"x.1", ones}, {"x.2", ones}})->isList());
  EXPECT_TRUE(make({{"x.a", ones}, {"x.b", ones}})->isGenericDict());
  EXPECT_THAT(make({{"x", ones}}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(make({}), StatusIs(absl::StatusCode::kNotFound));
}

TEST(StructuredInputTest, SomeValuesCannotBeBuilt) {
  EXPECT_THAT(ThereAndBack("Any", IValue(c10::Stream(c10::Stream::DEFAULT, c10::Device("cpu")))),
              StatusIs(absl::StatusCode::kInvalidArgument, "the value is of type Stream"));
  c10::impl::GenericDict dict(c10::ComplexType::get(), c10::IntType::get());
  dict.insert(c10::complex<double>(1, 2), 1);
  EXPECT_THAT(ThereAndBack("Dict[complex, int]", IValue(dict)),
              StatusIs(absl::StatusCode::kInvalidArgument, "a key is neither a text nor a number"));
  EXPECT_THAT(ThereAndBack("List[int]", IValue(std::vector<int64_t>(100'000, 1))),
              StatusIs(absl::StatusCode::kResourceExhausted, "the value has too many parts"));
}

}  // namespace
}  // namespace graphnet
