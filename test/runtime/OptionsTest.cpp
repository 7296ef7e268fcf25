// The command line of a compiled program.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Main/Options.h"
#include <gtest/gtest.h>

using namespace farskip::runtime;

namespace {

Status parse(std::vector<std::string> arguments, ProgramOptions &options, const std::string &tokenizer = "") {
  Description description;
  description.tokenizer = tokenizer;
  for (const char *name : {"a", "a=b", "c"}) {
    Port port;
    port.name = name;
    description.inputs.push_back(port);
    description.outputs.push_back(port);
  }
  std::vector<char *> pointers = {const_cast<char *>("program")};
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  return parseProgramOptions(pointers.size(), pointers.data(), description, options);
}

TEST(Options, TheLongestDeclaredNameWins) {
  ProgramOptions options;
  ASSERT_TRUE(parse({"--input", "a=b=file", "--input=a=other", "--output", "c=x=y"}, options).ok());
  EXPECT_EQ(options.inputs["a=b"], "file");
  EXPECT_EQ(options.inputs["a"], "other");
  EXPECT_EQ(options.outputs["c"], "x=y");
}

TEST(Options, BadUsageIsNamed) {
  const std::vector<std::string> wrong[] = {{"--unknown"},
                                            {"--input"},
                                            {"--input", "d=file"},
                                            {"--input", "a=x", "--input", "a=y"},
                                            {"--threads", "0"},
                                            {"--repeat", "0x10"},
                                            {"--repeat", "99999999999999999999"},
                                            {"--repeat", "1", "--repeat", "2"},
                                            {"--profile=xml"},
                                            {"--describe=xml"},
                                            {"--help=1"},
                                            {"--generate", "3"},
                                            {"--prompt", "ids.npy"},
                                            {"--prompt-text", "In", "--generate", "3"},
                                            {"--repeat", "2", "--generate", "3", "--prompt", "ids.npy"},
                                            {"--output=c=x", "--generate", "3", "--prompt", "ids.npy"},
                                            {"--trace"}};
  for (const auto &arguments : wrong) {
    ProgramOptions options;
    Status status = parse(arguments, options);
    EXPECT_EQ(status.code, kUsage) << arguments[0];
    EXPECT_NE(status.message.find(arguments[0].substr(0, arguments[0].find('='))), std::string::npos) << status.message;
  }
}

TEST(Options, ProfileAndDescribeTakeAFormat) {
  ProgramOptions options;
  ASSERT_TRUE(parse({"--profile=json", "--describe=json"}, options).ok());
  EXPECT_EQ(options.profile, ProgramOptions::Json);
  EXPECT_EQ(options.describe, ProgramOptions::Json);
  ProgramOptions plain;
  ASSERT_TRUE(parse({"--profile", "--describe"}, plain).ok());
  EXPECT_EQ(plain.profile, ProgramOptions::Table);
  EXPECT_EQ(plain.describe, ProgramOptions::Table);
}

TEST(Options, TextNeedsATokenizer) {
  ProgramOptions options;
  EXPECT_TRUE(parse({"--prompt-text", "In", "--generate", "3"}, options, "bytes").ok());
}

} // namespace
