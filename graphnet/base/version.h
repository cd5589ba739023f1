// The versions of graphnet, and of what it reads and writes.
//
//   std::cout << "graphnet " << kVersion << "\n";
#ifndef GRAPHNET_BASE_VERSION_H_
#define GRAPHNET_BASE_VERSION_H_

namespace graphnet {

inline constexpr char kVersion[] = "0.2.0";
// Of the protobuf form: the newest of proto/graphnet.proto.
inline constexpr int kProtobufVersion = 1;
// Of the schema of torch.export, which is written; and of torch 2.5's, which is read too.
inline constexpr int kPt2SchemaMajor = 8;
inline constexpr int kPt2OldSchemaMajor = 7;
// Of LibTorch, major and minor: what was built with one runs with no other.
inline constexpr char kLibTorchVersion[] = "2.13";

}  // namespace graphnet

#endif  // GRAPHNET_BASE_VERSION_H_
