# The lit suite of farskip: FileCheck tests beside each other as the sources are, and in e2e/ whole models.
# SPDX-License-Identifier: Apache-2.0
import os

import lit.formats

config.name = "farskip"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# Unit is a suite of its own; e2e runs only when it is named, as check-farskip-e2e and test/run.sh do.
config.excludes = ["Inputs", "Unit", "e2e", "expected"]
config.test_source_root = os.path.join(config.farskip_source_root, "test")
config.test_exec_root = os.path.join(config.farskip_binary_root, "test")

bin_dir = os.path.join(config.farskip_binary_root, "bin")
config.environment["PATH"] = os.pathsep.join([bin_dir, config.llvm_tools_dir, os.environ.get("PATH", "")])
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "HOME", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%farskip-opt", os.path.join(bin_dir, "farskip-opt")))
config.substitutions.append(("%farskip_bin", bin_dir))
config.substitutions.append(("%farskip_src", config.farskip_source_root))
config.substitutions.append(("%python", config.python))

for sanitizer in filter(None, config.farskip_sanitizer.split(",")):
    config.available_features.add(sanitizer)
