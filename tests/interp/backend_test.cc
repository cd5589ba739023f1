// CompileOptions::backend: bodies that something else runs.
#include <memory>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "gmock/gmock.h"
#include "graphnet/interp/executable.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kText[] = R"(graph @main(%x) {
  %a = torch.ops.higher_order.wrap(@one, %x, %x)
  %b = torch.ops.higher_order.wrap(@two, %a)
  %p = operator.getitem(%b, 0)
  %q = operator.getitem(%b, 1)
  return (%p, %q)
}

graph @one(%s, %t) {
  %r = torch.add(%s, %t)
  return %r
}

graph @two(%s) {
  %r = torch.neg(%s)
  %e = torch.abs(%s)
  return (%r, %e)
}
)";

absl::StatusOr<std::vector<c10::IValue>> RunWith(BodyBackend backend) {
  const auto module = Parse(kText);
  absl::StatusOr<std::unique_ptr<Executable>> executable =
      Compile(*module, {.backend = std::move(backend)});
  if (!executable.ok()) return executable.status();
  return (*executable)->Run({at::full({2}, 3.0)});
}

TEST(BackendTest, RunsTheBodiesThatItWants) {
  std::vector<std::string> asked;
  const auto backend = [&](const Graph& body) -> absl::StatusOr<BodyRunner> {
    asked.emplace_back(body.name());
    if (body.name() != "two") return BodyRunner();
    return BodyRunner(
        [](absl::Span<const c10::IValue> inputs) -> absl::StatusOr<std::vector<c10::IValue>> {
          const at::Tensor x = inputs[0].toTensor();
          return std::vector<c10::IValue>{x * 100, x + 1};
        });
  };
  const auto outputs = RunWith(backend);
  ASSERT_OK(outputs);
  EXPECT_THAT(asked, ElementsAre("one", "two"));
  EXPECT_EQ((*outputs)[0].toTensor()[0].item<float>(), 600);
  EXPECT_EQ((*outputs)[1].toTensor()[0].item<float>(), 7);
  const auto plain = RunWith(nullptr);
  ASSERT_OK(plain);
  EXPECT_EQ((*plain)[0].toTensor()[0].item<float>(), -6);
}

TEST(BackendTest, ItsErrorsNameTheCall) {
  EXPECT_THAT(RunWith([](const Graph&) -> absl::StatusOr<BodyRunner> {
                return absl::UnimplementedError("it cannot compile that");
              })
                  .status()
                  .message(),
              HasSubstr("it cannot compile that"));
  const auto failed = RunWith([](const Graph&) -> absl::StatusOr<BodyRunner> {
    return BodyRunner(
        [](absl::Span<const c10::IValue>) -> absl::StatusOr<std::vector<c10::IValue>> {
          return absl::InternalError("the device is gone");
        });
  });
  EXPECT_THAT(failed.status().message(), HasSubstr("the device is gone"));
  EXPECT_THAT(failed.status().message(), HasSubstr("node a"));
  const auto fewer = RunWith([](const Graph& body) -> absl::StatusOr<BodyRunner> {
    if (body.name() != "two") return BodyRunner();
    return BodyRunner(
        [](absl::Span<const c10::IValue> inputs) -> absl::StatusOr<std::vector<c10::IValue>> {
          return std::vector<c10::IValue>{inputs[0]};
        });
  });
  EXPECT_THAT(fewer.status().message(), HasSubstr("its backend returns 1 values, not 2"));
}

}  // namespace
}  // namespace graphnet
