// The fault matrix: what every rank can do wrong in every exchange, and what the user is told.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Main/Interrupt.h"
#include "runtime/Transport/Futex.h"
#include "test/runtime/Ranks.h"
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

using namespace farskip::runtime;

namespace {

constexpr int64_t kRanks = 3, kExchanges = 4;
/// Seconds: for faults that show at once, and for those that only a deadline ends.
constexpr int64_t kLong = 20, kShort = 1;
const char *kCollectives = R"([{"kind":"all_reduce","name":"a","layer":0},{"kind":"all_reduce","name":"b","layer":1},
  {"kind":"barrier","name":"c","layer":2},{"kind":"all_reduce","name":"d","layer":3}])";

size_t countIn(const char *folder) {
  std::error_code ignored;
  std::filesystem::directory_iterator at(folder, ignored);
  return std::distance(at, std::filesystem::directory_iterator());
}

void exchange(Context &context, int64_t op) {
  std::vector<float> data(100000, 1);
  if (op == 2)
    return farskip_rt_barrier(handle(context), op);
  farskip_rt_request_wait(handle(context), farskip_rt_all_reduce_start(handle(context), op, data.data(), data.data(),
                                                                       data.size(), FARSKIP_F32));
}

/// Runs four exchanges; before number `at`, rank `who` does `fault`, which says whether it goes on with the exchange.
Status runWith(int64_t timeout, Transports transport, int64_t who, int64_t at,
               const std::function<bool(Context &)> &fault) {
  size_t files = countIn("/proc/self/fd"), shared = countIn("/dev/shm");
  int64_t start = nowNs();
  RunOptions options;
  options.timeout = timeout;
  options.transport = transport;
  Status status = onRanks(
      describe(kRanks, kCollectives),
      [&](Context &context) {
        for (int64_t i = 0; i < kExchanges; ++i)
          if (context.rank != who || i != at || fault(context))
            exchange(context, i);
      },
      options);
  EXPECT_LT(nowNs() - start, (kShort + 5) * 1'000'000'000);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a rank is left";
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(countIn("/proc/self/fd"), files);
  EXPECT_EQ(countIn("/dev/shm"), shared);
  return status;
}

void expectFailure(const Status &status, int code, std::initializer_list<std::string> words) {
  EXPECT_EQ(status.code, code) << status.message;
  for (const std::string &word : words)
    EXPECT_NE(status.message.find(word), std::string::npos) << "'" << status.message << "' lacks '" << word << "'";
}

/// Every rank and every exchange.
class Fault : public testing::TestWithParam<std::tuple<Transports, int64_t, int64_t>> {
protected:
  Transports transport = std::get<0>(GetParam());
  int64_t who = std::get<1>(GetParam()), at = std::get<2>(GetParam());
  std::string name = "rank " + std::to_string(who);
  /// The exchanges of the program come after the handshake.
  std::string number = "exchange " + std::to_string(at + 2);
};

INSTANTIATE_TEST_SUITE_P(Everywhere, Fault,
                         testing::Combine(testing::Values(Transports::Shm, Transports::Tcp),
                                          testing::Range<int64_t>(0, kRanks), testing::Values(0, 2, 3)));

/// Those that take the deadline and the grace that follows.
class SlowFault : public Fault {};

INSTANTIATE_TEST_SUITE_P(Somewhere, SlowFault,
                         testing::Values(std::tuple{Transports::Shm, 0, 2}, std::tuple{Transports::Shm, 2, 0},
                                         std::tuple{Transports::Tcp, 1, 3}));

TEST_P(Fault, Killed) {
  expectFailure(runWith(kLong, transport, who, at, [](Context &) { return ::raise(SIGKILL) == 0; }), kPeerFailed,
                {name + " was killed by signal 9", "after exchange " + std::to_string(at + 1)});
}

TEST_P(Fault, Exits) {
  expectFailure(runWith(kLong, transport, who, at, [](Context &) -> bool { ::exit(3); }), kPeerFailed,
                {name + " ended early with exit code 3"});
}

TEST_P(Fault, ExitsAsIfAllWereWell) {
  expectFailure(runWith(kLong, transport, who, at, [](Context &) -> bool { ::_exit(0); }), kPeerFailed,
                {name + " ended early with exit code 0"});
}

TEST_P(SlowFault, Stopped) {
  expectFailure(runWith(kShort, transport, who, at, [](Context &) { return ::raise(SIGSTOP) == 0; }), kDeadline,
                {"waited 1 s", number, "missing: " + name + ": last after exchange " + std::to_string(at + 1),
                 "FARSKIP_TIMEOUT_S", name + " was stopped by signal 19"});
}

TEST_P(SlowFault, SleepsPastTheDeadline) {
  expectFailure(runWith(kShort, transport, who, at, [](Context &) { return ::sleep(10) == 0; }), kDeadline,
                {"waited 1 s", number, "missing: " + name + ": last after exchange " + std::to_string(at + 1)});
}

TEST_P(Fault, SkipsAnOperation) {
  expectFailure(
      runWith(kLong, transport, who, at, [](Context &) { return false; }), kInternal,
      {"the ranks are not in the same exchange", name + " is in " + number, "(op " + std::to_string(at) + ")"});
}

TEST_P(Fault, RunsAnotherOperation) {
  expectFailure(runWith(kLong, transport, who, at,
                        [&](Context &context) {
                          exchange(context, (at + 1) % kExchanges);
                          return false;
                        }),
                kInternal,
                {"the ranks are not in the same exchange", name + " is in " + number, "(op " + std::to_string(at) + ")",
                 "(op " + std::to_string((at + 1) % kExchanges) + ")"});
}

TEST_P(Fault, Interrupted) {
  expectFailure(runWith(kLong, transport, who, at, [](Context &) { return ::raise(SIGINT) == 0; }), kInterrupted,
                {name + ": interrupted"});
}

TEST(FaultOnce, SizesThatDifferAreNamed) {
  Status status = onRanks(2, [](Context &context) {
    char buffer[16] = {};
    int64_t send[] = {0, 0}, receive[] = {0, 0};
    send[1 - context.rank] = 1;
    receive[1 - context.rank] = context.rank ? 2 : 1;
    farskip_rt_request_wait(handle(context),
                            farskip_rt_all_to_all_start(handle(context), 7, buffer, send, buffer + 8, receive, 4));
  });
  expectFailure(status, kInternal,
                {"the ranks disagree on the size", "all_to_all (op 7)", "rank 0 sends 4 bytes, rank 1 wants 8"});
}

TEST(FaultOnce, AnErrorOfOneRankIsAgreedOn) {
  Status status = onRanks(4, [](Context &context) {
    context.agree(context.rank >= 2 ? failure(kIo, "no memory on " + std::to_string(context.rank)) : Status{});
    farskip_rt_barrier(handle(context), 0);
  });
  EXPECT_EQ(status.code, kIo);
  EXPECT_EQ(status.message, "rank 2: no memory on 2");
}

TEST(FaultOnce, WithoutALimitThereIsNone) {
  RunOptions options;
  options.timeout = 0;
  Status status = onRanks(
      describe(2),
      [](Context &context) {
        if (context.rank)
          ::sleep(2);
        farskip_rt_barrier(handle(context), 0);
      },
      options);
  EXPECT_EQ(status.code, kOk) << status.message;
}

TEST(FaultOnce, TheLimitIsReadStrictly) {
  RunOptions options;
  for (const char *wrong : {"", "-1", "1.5", "1s", " 1", "9999999999"}) {
    ::setenv("FARSKIP_TIMEOUT_S", wrong, 1);
    EXPECT_EQ(readTimeout(options).code, kUsage) << wrong;
  }
  ::setenv("FARSKIP_TIMEOUT_S", "17", 1);
  EXPECT_TRUE(readTimeout(options).ok());
  EXPECT_EQ(options.timeout, 17);
  ::unsetenv("FARSKIP_TIMEOUT_S");
}

/// Runs `body` in a process group of its own; its exit code, once the whole group is gone.
int inOwnGroup(const std::function<int()> &body, const std::function<void(pid_t)> &meanwhile) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    ::_exit(body());
  }
  ::setpgid(pid, pid);
  meanwhile(pid);
  int status = 0;
  ::waitpid(pid, &status, 0);
  for (int i = 0; i < 500 && ::waitpid(-pid, nullptr, WNOHANG) >= 0; ++i)
    ::usleep(10000);
  EXPECT_EQ(::kill(-pid, 0), -1) << "a rank is left";
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int runForever() {
  endCleanlyOnSignals();
  return onRanks(3,
                 [](Context &context) {
                   while (true)
                     farskip_rt_barrier(handle(context), 0);
                 })
      .code;
}

TEST(FaultOnce, AnInterruptOfTheGroupEndsEverything) {
  for (int signal : {SIGINT, SIGTERM})
    EXPECT_EQ(inOwnGroup(runForever,
                         [=](pid_t pid) {
                           ::usleep(200000);
                           ::kill(-pid, signal);
                         }),
              kInterrupted);
}

TEST(FaultOnce, RanksEndWithTheirLauncher) {
  EXPECT_EQ(inOwnGroup(runForever,
                       [](pid_t pid) {
                         ::usleep(200000);
                         ::kill(pid, SIGKILL);
                       }),
            -SIGKILL);
}

/// The exit code of a run under a limit.
int codeUnder(int resource, rlim_t limit) {
  return inOwnGroup(
      [=] {
        rlimit both = {limit, limit};
        ::setrlimit(static_cast<__rlimit_resource>(resource), &both);
        Status status = onRanks(3, [](Context &context) { farskip_rt_barrier(handle(context), 0); });
        printError(status.message);
        return status.code;
      },
      [](pid_t) {});
}

TEST(FaultOnce, WithoutSpaceOrDescriptorsNothingStarts) {
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  EXPECT_EQ(codeUnder(RLIMIT_AS, 1 << 20), kIo);
#endif
  EXPECT_EQ(codeUnder(RLIMIT_NOFILE, 4), kIo);
}

} // namespace
