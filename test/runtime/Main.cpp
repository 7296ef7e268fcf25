// Main of the run-time's unit tests: keeps the linker from taking the one that a compiled program needs.
// SPDX-License-Identifier: Apache-2.0
#include "test/runtime/Ranks.h"
#include <gtest/gtest.h>

void (*farskip::runtime::testModel)(farskip_rt_context *) = nullptr;

void farskip_model_run(farskip_rt_context *context) { farskip::runtime::testModel(context); }

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
