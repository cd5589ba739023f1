// A plug-in whose passes end badly on graphs that call torch.tanh, and change nothing in others.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace {

bool HasTanh(const graphnet::Module& module) {
  for (const graphnet::Node* node : module.main()->nodes()) {
    if (node->is_call() && node->target() == "torch.tanh") return true;
  }
  return false;
}

const graphnet::RegisteredPass kAborts("aborts", /*header=*/"",
                                       [](graphnet::Module* module,
                                          graphnet::PassRun&) -> absl::StatusOr<bool> {
                                         if (HasTanh(*module)) std::abort();
                                         return false;
                                       });

const graphnet::RegisteredPass kHangs("hangs", /*header=*/"",
                                      [](graphnet::Module* module,
                                         graphnet::PassRun&) -> absl::StatusOr<bool> {
                                        while (HasTanh(*module))
                                          std::this_thread::sleep_for(std::chrono::seconds(1));
                                        return false;
                                      });

const graphnet::RegisteredPass kGrows("grows", /*header=*/"",
                                      [](graphnet::Module* module,
                                         graphnet::PassRun&) -> absl::StatusOr<bool> {
                                        std::vector<std::vector<char>> all;
                                        while (HasTanh(*module)) {
                                          all.emplace_back(16 << 20, 'x');
                                          std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                        }
                                        return false;
                                      });

// Answers in place of the tool.
const graphnet::RegisteredPass kAnswers("answers", /*header=*/"",
                                        [](graphnet::Module* module,
                                           graphnet::PassRun&) -> absl::StatusOr<bool> {
                                          if (HasTanh(*module) && write(3, "{}\n", 3) != 3)
                                            std::abort();
                                          return false;
                                        });

}  // namespace

extern "C" const char* GraphnetPlugin(int version) {
  return version == graphnet::kFormatsVersion ? nullptr : "made for another graphnet";
}
