// Main of the run-time's unit tests: keeps the linker from taking the one that a compiled program needs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
