// Texts of a program that PyTorch evaluates while it loads the file.
#include "graphnet/formats/pt2/evaluated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/upgrade.h"
#include "tests/base/status_matchers.h"

namespace graphnet::pt2 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status Checked(const std::string& json) {
  const auto document = JsonDocument::Parse(json);
  EXPECT_OK(document) << json;
  return document.ok() ? CheckEvaluated(document->root()) : document.status();
}

TEST(EvaluatedTest, TextsThatAreMoreThanNamesAreRefused) {
  const struct {
    std::string json, what;
  } kCases[] = {
      {R"j({"expr_str": "exec('1')"})j", "an expression is"},
      {R"j({"guards_code": ["L['x'].size()[0] == 1", "exit()"]})j", "a guard is"},
      {R"j({"name": "x, y=exit()"})j", "a name is"},
      {R"j({"as_name": "a b"})j", "a name is"},
      {R"j({"forward_arg_names": ["x", "y=exit()"]})j", "an argument is called"},
      {R"j({"parameter_name": "w' + exit() + '"})j", "an attribute is called"},
      {R"j({"buffer_name": "b\\"})j", "an attribute is called"},
      {R"j({"tensor_values": {"x.y": {}}})j", "a value is called"},
      {R"j({"range_constraints": {"exit()": {}}})j", "a range is of"},
      // Python takes letters of all alphabets, and nothing else that is beyond ASCII.
      {R"j({"forward_arg_names": ["ä=exit()"]})j", "an argument is called"},
      {R"j({"forward_arg_names": ["日 本"]})j", "an argument is called"},
      {R"j({"name": "ä"})j", "a name is"},
      {R"j({"tensor_values": {"ä": {}}})j", "a value is called"},
  };
  for (const auto& [json, what] : kCases) {
    EXPECT_THAT(Checked(json).message(),
                AllOf(HasSubstr(what), HasSubstr(", which PyTorch would evaluate as Python")))
        << json;
  }
}

TEST(EvaluatedTest, WhatOnlyInformsAndPlainNamesAreTaken) {
  EXPECT_OK(Checked(R"j({"metadata": {"stack_trace": "exit()", "name": "a b"}})j"));
  for (const char* const name : {"ä", "日本", "Ünï", "α1", "_é_"}) {
    EXPECT_OK(Checked(absl::StrCat(R"j({"forward_arg_names": [")j", name, R"j("]})j"))) << name;
  }
  EXPECT_OK(Checked(
      R"j({"name": "x_1", "forward_arg_names": ["self", "x"], "expr_str": "2*s0 + 1",
           "guards_code": ["L['x'].size()[0] == 1"], "parameter_name": "a.b.0",
           "tensor_values": {"x": {}}, "range_constraints": {"s0": {}}})j"));
}

absl::Status Upgraded(const std::string& json) {
  const auto document = JsonDocument::Parse(json);
  EXPECT_OK(document) << json;
  return document.ok() ? UpgradeProgram(document->root()).status() : document.status();
}

TEST(UpgradeTest, ProgramsOfOldSchemasThatAreDamagedAreRefused) {
  EXPECT_THAT(Upgraded(
                  R"j({"schema_version": 1, "graph_module": {"graph": {"inputs": []},
                       "signature": {"inputs_to_parameters": 1}, "module_call_graph": []}})j")
                  .message(),
              HasSubstr("signature: inputs_to_parameters: no object"));
  EXPECT_THAT(Upgraded(
                  R"j({"schema_version": 1, "graph_module": {"graph": {"inputs": []},
                       "signature": {"input_specs": []}, "module_call_graph": [],
                       "call_spec": {"in_spec": "[1]", "out_spec": "[1]"}}})j")
                  .message(),
              HasSubstr("call_spec: expected a version and a tree"));
}

}  // namespace
}  // namespace graphnet::pt2
