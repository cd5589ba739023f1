// The version of graphnet, and the versions of the formats that it reads and writes.
//
//   std::cout << "graphnet " << kVersion << "\n";
#ifndef GRAPHNET_BASE_VERSION_H_
#define GRAPHNET_BASE_VERSION_H_

namespace graphnet {

// The version of graphnet.
inline constexpr char kVersion[] = "0.2.0";
// The version of the protobuf form, the newest one in proto/graphnet.proto.
inline constexpr int kProtobufVersion = 1;
// The major version of torch.export's schema that is written and read.
inline constexpr int kPt2SchemaMajor = 8;
// The major version of torch 2.5's schema, which is read, too.
inline constexpr int kPt2OldSchemaMajor = 7;
// LibTorch's major and minor version. A program that was built with it runs with no other one.
inline constexpr char kLibTorchVersion[] = "2.13";

}  // namespace graphnet

#endif  // GRAPHNET_BASE_VERSION_H_
