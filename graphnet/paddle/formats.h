// Paddle for who opens and saves files: UsePaddle() once, and `paddle` and `pir` are formats
// (formats/formats.h). A pipeline has the pass to-paddle when this is linked.
//
//   RETURN_IF_ERROR(UsePaddle());
//   RETURN_IF_ERROR(Save(sample, "net", {.format = "paddle"}));
#ifndef GRAPHNET_PADDLE_FORMATS_H_
#define GRAPHNET_PADDLE_FORMATS_H_

#include "absl/status/status.h"

namespace graphnet {

// Registers the formats of Paddle: folders of its calls, which are written (reading them needs no
// Paddle), and text of PIR, which is read. AlreadyExists when it was called before.
absl::Status UsePaddle();

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_FORMATS_H_
