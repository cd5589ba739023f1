// Adds Paddle to the formats: after one call of UsePaddle(), files of the formats `paddle` and
// `pir` can be opened and saved (formats/formats.h). Linking this also registers the pass
// to-paddle.
//
//   RETURN_IF_ERROR(UsePaddle());
//   RETURN_IF_ERROR(Save(sample, "net", {.format = "paddle"}));
#ifndef GRAPHNET_PADDLE_FORMATS_H_
#define GRAPHNET_PADDLE_FORMATS_H_

#include "absl/status/status.h"

namespace graphnet {

// Registers the formats of Paddle: folders of its calls, which are written (reading them does not
// need this function), and text of PIR, which is read. AlreadyExists if it was called before.
absl::Status UsePaddle();

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_FORMATS_H_
