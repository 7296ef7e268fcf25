# The GoogleTest programs of the build folder, as a lit suite: every bin/*Tests.
# SPDX-License-Identifier: Apache-2.0
import os

import lit.formats

config.name = "farskip-unit"
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.suffixes = []
config.test_source_root = os.path.join(config.farskip_binary_root, "bin")
config.test_exec_root = config.test_source_root
config.environment["PATH"] = os.pathsep.join([config.llvm_tools_dir, os.environ.get("PATH", "")])
for name in ("GTEST_FILTER", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "HOME", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
