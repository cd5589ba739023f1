// Operators of torchvision are declared while an archive is read, and not longer.
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/importer.h"
#include "gtest/gtest.h"
#include "tests/formats/torchscript/import_text.h"
#include "torch/library.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

void DeclareNms(torch::Library* library) {
  library->def("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor");
}

// Returns an archive whose forward calls torchvision::nms, which is not declared.
std::string ArchiveOfNms() {
  torch::Library library(torch::Library::FRAGMENT, "torchvision", std::nullopt, __FILE__, __LINE__);
  DeclareNms(&library);
  torch::jit::Module module("M");
  const auto graph = std::make_shared<torch::jit::Graph>();
  graph->addInput("self")->setType(module.type());
  torch::jit::Value* boxes = graph->addInput("boxes");
  torch::jit::Value* scores = graph->addInput("scores");
  graph->registerOutput(graph->insert(c10::Symbol::fromQualString("torchvision::nms"),
                                      {boxes, scores, graph->insertConstant(0.5)}));
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), graph));
  std::ostringstream archive;
  module.save(archive);
  return archive.str();
}

// Torchvision's library may be loaded later and must then be the first to declare them.
TEST(ImporterTest, OperatorsOfTorchvisionAreDeclaredDuringTheImportOnly) {
  const std::string archive = ArchiveOfNms();
  const auto find = [] {
    return c10::Dispatcher::singleton().findSchema({"torchvision::nms", ""});
  };
  ASSERT_FALSE(find());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Text(ImportTorchScript(archive, "m.pt")),
                HasSubstr("torchvision.nms.default(%boxes, %scores, 0.5)"));
    EXPECT_FALSE(find());
  }
  torch::Library library(torch::Library::FRAGMENT, "torchvision", std::nullopt, __FILE__, __LINE__);
  DeclareNms(&library);
  EXPECT_TRUE(find());
}

// One thread removed the declaration while another declared it again, which PyTorch refuses.
TEST(ImporterTest, ThreadsDeclareOperatorsOfTorchvisionTogether) {
  const std::string archive = ArchiveOfNms();
  std::vector<std::thread> threads;
  std::vector<std::string> errors(2);
  for (std::string& error : errors) {
    threads.emplace_back([&archive, &error] {
      for (int i = 0; i < 3000 && error.empty(); ++i)
        error = std::string(ImportTorchScript(archive, "m.pt").status().message());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_FALSE(c10::Dispatcher::singleton().findSchema({"torchvision::nms", ""}));
}

}  // namespace
}  // namespace graphnet
