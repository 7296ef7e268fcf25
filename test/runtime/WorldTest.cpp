// Ranks that something else started: how they find each other, and what each is told when one fails.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/World.h"
#include "runtime/Transport/Futex.h"
#include "test/runtime/Ranks.h"
#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>

using namespace farskip::runtime;

namespace {

/// A port that is free now.
int freePort() {
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address);
  ::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length);
  ::close(fd);
  return ntohs(address.sin_port);
}

/// How a member ended, and what it wrote to stderr but the notes.
struct End {
  int code;
  std::string text;
};

struct Member {
  Description description;
  Prepared prepared;
  RunOptions options;
  RankBody body;
  int delayMs = 0;
};

/// Starts a process for each member. `adjust` may make one of them differ, or leave it out by returning false.
std::vector<End> inWorld(int64_t ranks, const RankBody &body, const std::function<bool(Member &)> &adjust = nullptr) {
  int port = freePort();
  int64_t deadline = nowNs();
  std::vector<pid_t> pids(ranks, -1);
  std::string prefix = testing::TempDir() + "farskip-world-" + std::to_string(::getpid()) + "-";
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Member member = {describe(ranks), {}, {}, body, 0};
    member.description.buildId = "0123456789abcdef";
    member.options.threads = 1;
    member.options.timeout = 20;
    member.options.world = {true, rank, ranks, "127.0.0.1", port};
    if (adjust && !adjust(member))
      continue;
    deadline = std::max(deadline, nowNs() + (member.options.timeout + 3) * 1'000'000'000);
    pids[rank] = ::fork();
    if (pids[rank])
      continue;
    ::dup2(::open((prefix + std::to_string(rank)).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    ::usleep(member.delayMs * 1000);
    Weights weights;
    std::vector<RankResults> results;
    Status status = launchRanks(member.description, weights, member.prepared, member.options, member.body, results);
    if (!status.ok())
      printError(status.message);
    else if (results.size() != static_cast<size_t>(rank ? 0 : ranks))
      status.code = 98;
    ::_exit(status.code);
  }
  std::vector<End> ends(ranks);
  int64_t open = std::count_if(pids.begin(), pids.end(), [](pid_t pid) { return pid > 0; });
  while (open) {
    int status;
    pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) {
      ::usleep(1000);
      if (nowNs() > deadline) // a stopped rank is the test's own
        for (int64_t rank = 0; rank < ranks; ++rank)
          if (pids[rank] > 0)
            ::kill(pids[rank], SIGKILL);
      continue;
    }
    --open;
    int64_t rank = std::find(pids.begin(), pids.end(), pid) - pids.begin();
    pids[rank] = -1;
    ends[rank].code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    std::ifstream file(prefix + std::to_string(rank));
    for (std::string line; std::getline(file, line);)
      if (line.rfind("note:", 0))
        ends[rank].text += line + "\n";
  }
  for (int64_t rank = 0; rank < ranks; ++rank)
    ::unlink((prefix + std::to_string(rank)).c_str());
  return ends;
}

void twoExchanges(Context &context) {
  for (int64_t op : {0, 1}) {
    std::vector<float> data(200000, static_cast<float>(context.rank + 1));
    farskip_rt_request_wait(handle(context), farskip_rt_all_reduce_start(handle(context), op, data.data(), data.data(),
                                                                         data.size(), FARSKIP_F32));
    float sum = context.ranks * (context.ranks + 1) / 2;
    RANK_CHECK(context, std::all_of(data.begin(), data.end(), [=](float value) { return value == sum; }));
  }
  context.seconds.push_back(0.5);
}

/// All exchanges but what `fault` does before the second on rank `who`.
RankBody withFault(int64_t who, const std::function<void(Context &)> &fault) {
  return [=](Context &context) {
    farskip_rt_barrier(handle(context), 0);
    if (context.rank == who)
      fault(context);
    farskip_rt_barrier(handle(context), 1);
  };
}

/// The lines of all ranks together.
std::string allText(const std::vector<End> &ends) {
  std::string text;
  for (const End &end : ends)
    text += end.text;
  return text;
}

TEST(World, RanksFindEachOther) {
  for (int64_t ranks : {2, 3, 5})
    for (const End &end : inWorld(ranks, twoExchanges)) {
      EXPECT_EQ(end.code, kOk) << end.text;
      EXPECT_EQ(end.text, "");
    }
}

TEST(World, ALateRankIsWaitedFor) {
  for (int64_t late : {0, 2})
    for (const End &end : inWorld(3, twoExchanges, [=](Member &member) {
           member.delayMs = member.options.world.rank == late ? 300 : 0;
           return true;
         }))
      EXPECT_EQ(end.code, kOk) << end.text;
}

TEST(World, AMissingRankIsNamed) {
  std::vector<End> ends = inWorld(3, twoExchanges, [](Member &member) {
    member.options.timeout = 1;
    return member.options.world.rank != 1;
  });
  EXPECT_EQ(ends[0].code, kDeadline);
  EXPECT_NE(ends[0].text.find("waited 1 s for rank 1 to come"), std::string::npos) << ends[0].text;
  EXPECT_EQ(ends[2].code, kDeadline);
}

TEST(World, DifferentProgramsAreRefusedByAll) {
  struct {
    std::function<void(Member &)> change;
    const char *text;
  } cases[] = {{[](Member &member) { member.description.buildId = "f"; }, "disagree on the build id"},
               {[](Member &member) { member.options.world.ranks = member.description.ranks = 4; },
                "disagree on the world size: rank 0 has 3, rank 2 has 4"},
               {[](Member &member) { member.options.world.rank = 1; }, "two processes are rank 1"},
               {[](Member &member) { member.prepared.names = "input 'x'\tf32 [3]\n"; },
                "disagree on the input 'x': rank 0 has f32 [2], rank 2 has f32 [3]"}};
  for (const auto &[change, text] : cases) {
    std::vector<End> ends = inWorld(3, twoExchanges, [&](Member &member) {
      member.prepared.names = "input 'x'\tf32 [2]\n";
      if (member.options.world.rank == 2)
        change(member);
      return true;
    });
    for (const End &end : ends)
      EXPECT_EQ(end.code, kInputError) << end.text;
    EXPECT_NE(allText(ends).find(text), std::string::npos) << allText(ends);
  }
}

TEST(World, AnErrorOfOneRankEndsAll) {
  std::vector<End> ends = inWorld(3, twoExchanges, [](Member &member) {
    if (member.options.world.rank == 1)
      member.prepared.status = failure(kIo, "input 'x' is not there");
    return true;
  });
  for (const End &end : ends)
    EXPECT_EQ(end.code, kIo);
  EXPECT_EQ(allText(ends), "error: rank 1: input 'x' is not there\n");
}

TEST(World, ARankThatIsGoneIsNamedOnce) {
  for (int64_t who : {0, 1, 2})
    for (bool killed : {true, false}) {
      std::vector<End> ends = inWorld(3, withFault(who, [=](Context &) {
                                        if (killed)
                                          ::raise(SIGKILL);
                                        ::_exit(3);
                                      }));
      EXPECT_EQ(ends[who].code, killed ? -SIGKILL : 3);
      for (int64_t rank = 0; rank < 3; ++rank)
        if (rank != who) {
          EXPECT_EQ(ends[rank].code, kPeerFailed) << ends[rank].text;
        }
      std::string text = allText(ends);
      EXPECT_NE(text.find("error: rank " + std::to_string(who) + " is gone without a word"), std::string::npos) << text;
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    }
}

TEST(World, AStoppedRankIsMissing) {
  std::vector<End> ends = inWorld(3, withFault(2, [](Context &) { ::raise(SIGSTOP); }), [](Member &member) {
    member.options.timeout = 1;
    return true;
  });
  EXPECT_EQ(ends[0].code, kDeadline);
  EXPECT_EQ(ends[1].code, kDeadline);
  std::string text = allText(ends);
  EXPECT_NE(text.find("missing: rank 2"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(World, AnInterruptOfOneEndsAll) {
  for (const End &end : inWorld(3, withFault(1, [](Context &) { ::raise(SIGINT); })))
    EXPECT_EQ(end.code, kInterrupted) << end.text;
}

TEST(World, AnotherOperationStopsAll) {
  std::vector<End> ends = inWorld(3, withFault(1, [](Context &context) { farskip_rt_barrier(handle(context), 7); }));
  for (const End &end : ends)
    EXPECT_EQ(end.code, kInternal) << end.text;
  EXPECT_NE(allText(ends).find("rank 1 is in exchange 5, barrier (op 7)"), std::string::npos) << allText(ends);
}

/// Variables of the environment for the length of a test.
class Environment {
public:
  explicit Environment(std::vector<std::pair<const char *, const char *>> variables) : variables(std::move(variables)) {
    for (auto [name, value] : this->variables)
      ::setenv(name, value, 1);
  }
  ~Environment() {
    for (auto [name, value] : variables)
      ::unsetenv(name);
  }

private:
  std::vector<std::pair<const char *, const char *>> variables;
};

TEST(World, TheUsualLaunchersAreUnderstood) {
  {
    World world;
    ASSERT_TRUE(readWorld(world).ok());
    EXPECT_FALSE(world.present);
  }
  {
    Environment torchrun({{"RANK", "3"},
                          {"WORLD_SIZE", "8"},
                          {"MASTER_ADDR", "node0"},
                          {"MASTER_PORT", "1234"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    World world;
    ASSERT_TRUE(readWorld(world).ok());
    EXPECT_TRUE(world.present && world.rank == 3 && world.ranks == 8);
    EXPECT_EQ(world.host, "node0");
    EXPECT_EQ(world.port, 1235);
  }
  {
    Environment slurm({{"SLURM_PROCID", "1"},
                       {"SLURM_NTASKS", "6"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_JOB_ID", "7042"},
                       {"SLURM_STEP_NODELIST", "gpu[03-05,9],other"}});
    World world;
    ASSERT_TRUE(readWorld(world).ok());
    EXPECT_TRUE(world.present && world.rank == 1 && world.ranks == 6);
    EXPECT_EQ(world.host, "gpu03");
    EXPECT_EQ(world.port, 29542);
  }
  {
    Environment openMpi(
        {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
    World world;
    ASSERT_TRUE(readWorld(world).ok());
    EXPECT_TRUE(world.present);
    EXPECT_EQ(world.host, "127.0.0.1");
  }
}

TEST(World, BadVariablesAreNamed) {
  for (const char *rank : {"", "2", "-1", "x"}) {
    Environment bad({{"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}});
    World world;
    Status status = readWorld(world);
    EXPECT_EQ(status.code, kUsage);
    EXPECT_NE(status.message.find("RANK"), std::string::npos);
  }
  Environment lonely({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}});
  World world;
  EXPECT_EQ(readWorld(world).code, kUsage);
}

} // namespace
