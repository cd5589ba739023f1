#include "graphnet/cli/examples.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace graphnet {

absl::Span<const absl::string_view> ExamplesOf(absl::string_view command) {
  using Lines = std::vector<absl::string_view>;
  static const auto* const kExamples = new absl::flat_hash_map<absl::string_view, Lines>{
      {"show",
       {"graphnet show samples/vit.pb", "graphnet show samples/resnet.pb -o resnet.html",
        "graphnet show samples/vit.pb --module blocks.0 -o block.svg"}},
      {"stats", {"graphnet stats samples/gpt.pb --all", "graphnet stats samples"}},
      {"shapes",
       {"graphnet shapes samples/resnet.pb --input f32[8,3,64,64]",
        "graphnet shapes samples/vit.pb --cost-by module",
        "graphnet shapes samples/vit.pb | graphnet show - -o shapes.html"}},
      {"find",
       {"graphnet find 'softmax(?, -1)' samples",
        "graphnet find 'conv2d|_convolution' samples -l"}},
      {"hash",
       {"graphnet hash samples | sort",
        "graphnet hash samples/vit.pt samples/vit.pb --normal-form"}},
      {"diff",
       {"graphnet diff samples/vit.pt samples/vit.pb",
        "graphnet diff samples/vit.pt samples/vit.pb --normal-form --json"}},
      {"check", {"graphnet check samples", "graphnet check samples/resnet.pt --calls"}},
      {"lint",
       {"graphnet lint samples", "graphnet lint samples/resnet.pb --rule bn-var -o repaired.pb"}},
      {"convert",
       {"graphnet convert samples/resnet.pt resnet18", "graphnet convert samples/vit.pt vit.pt2",
        "graphnet convert samples/unet.pb unet.mlir"}},
      {"opt",
       {"graphnet opt samples/resnet.pb -p cse,dce -o smaller.pb",
        "graphnet opt samples -p 'change-dtype{to=bf16}' -o half"}},
      {"paddle-map", {"graphnet paddle-map gelu"}},
      {"passes", {"graphnet passes", "graphnet passes dce"}},
      {"decompose",
       {"graphnet decompose samples/resnet.pb --pieces 4 -o pieces",
        "graphnet decompose samples/vit.pb --blocks --dry-run"}},
      {"subgraph",
       {"graphnet subgraph samples/resnet.pb --range 8:20 -o part.pb",
        "graphnet subgraph samples/vit.pb --module blocks.0 -o block.pb"}},
      {"compose",
       {"graphnet decompose samples/gpt.pb --pieces 3 -o parts && "
        "graphnet compose parts -o whole.pb"}},
      {"validate",
       {"graphnet decompose samples/resnet.pb --pieces 4 -o layers && "
        "graphnet validate samples/resnet.pb layers --run"}},
      {"roundtrip", {"graphnet roundtrip samples/gpt.pb --pieces 3 -o round"}},
      {"shard",
       {"graphnet shard samples/vit.pb --mesh 2 --input f32[4,3,64,64] --shard image:0,-1,-1,-1 "
        "--check -o ranks",
        "graphnet shard samples/vit.pb --mesh front=2 --mesh back=2 "
        "--stage 'patch_embed,blocks.0-1:front' --stage 'blocks.2-3,norm,head:back' --check"}},
      {"extract",
       {"graphnet extract samples/detector.pt --input f32[1,3,64,64] --explain -o detector",
        "graphnet extract samples/resnet.pt --input f32[2,3,64,64] --check -o captured"}},
      {"run",
       {"graphnet run samples/resnet.pt --input f32[8,3,64,64]",
        "graphnet run samples/vit.pb --profile --repeat 5"}},
      {"diff-run", {"graphnet diff-run samples/resnet.pt samples/resnet.pb"}},
      {"backends", {"graphnet backends"}},
      {"bench", {"graphnet bench samples/resnet.pb --backend nope,jit --trials 5 -o logs"}},
      {"score",
       {"graphnet bench samples/vit.pb --backend jit --trials 5 -o log && "
        "graphnet score log --html scores.html"}},
      {"reduce",
       {"graphnet reduce samples/bert.pb --command 'graphnet find softmax {}' -o small.pb"}},
      {"completion", {"source <(graphnet completion bash)"}},
      {"man", {"graphnet man | head -n 20"}},
  };
  const auto it = kExamples->find(command);
  return it == kExamples->end() ? absl::Span<const absl::string_view>()
                                : absl::MakeConstSpan(it->second);
}

std::string ExamplesText(absl::string_view command) {
  std::string text;
  for (const absl::string_view line : ExamplesOf(command))
    absl::StrAppend(&text, text.empty() ? "Examples:\n  " : "\n  ", line);
  return text;
}

}  // namespace graphnet
