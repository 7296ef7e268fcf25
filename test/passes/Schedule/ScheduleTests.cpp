// Scheduling: checks, simulation, and the list scheduler against the exact one.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Schedule/Problem.h"
#include "gtest/gtest.h"
#include <numeric>
#include <random>

using namespace farskip::schedule;

namespace {

Task compute(double seconds, std::vector<int64_t> after = {}) {
  return {Task::Kind::Compute, seconds, 0, -1, std::move(after), ""};
}
Task start(double transfer, std::vector<int64_t> after = {}) {
  return {Task::Kind::Start, 0, transfer, -1, std::move(after), ""};
}
Task wait(int64_t of) { return {Task::Kind::Wait, 0, 0, of, {}, ""}; }

std::string message(llvm::Error error) { return llvm::toString(std::move(error)); }

TEST(Problem, RefusesWhatIsNoOrder) {
  EXPECT_EQ(message(Problem{{compute(1, {0})}}.check()), "task 0 comes before task 0, on which it depends");
  EXPECT_EQ(message(Problem{{start(1)}}.check()), "start 0 is waited for 0 times");
  EXPECT_EQ(message(Problem{{start(1), wait(0), wait(0)}}.check()), "start 0 is waited for 2 times");
  EXPECT_EQ(message(Problem{{compute(1), wait(0)}}.check()), "task 1 waits for no start before it");
  EXPECT_EQ(message(Problem{{compute(-1)}}.check()), "task 0 has a time that is negative or no number");
  EXPECT_EQ(message(Problem{{start(1), wait(0), compute(1, {1})}}.check()), "");
}

TEST(Verify, RefusesOrdersThatBreakTheProblem) {
  Problem problem{{start(1), wait(0), compute(1, {1})}};
  EXPECT_EQ(message(verify(problem, {0, 1, 2})), "");
  EXPECT_EQ(message(verify(problem, {0, 2, 1})), "task 2 comes before task 1, on which it depends");
  EXPECT_EQ(message(verify(problem, {1, 0, 2})), "task 1 waits before its start, task 0");
  EXPECT_EQ(message(verify(problem, {0, 1, 1})), "task 1 does not exist or comes twice");
  EXPECT_EQ(message(verify(problem, {0, 1})), "an order of 2 tasks, wanted 3");
}

TEST(Simulate, ExchangesOfOneLinkFollowEachOther) {
  Problem problem{{start(3), start(2), compute(1), wait(0), wait(1)}};
  Schedule schedule = simulate(problem, {0, 1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(schedule.arrival[0], 3);
  EXPECT_DOUBLE_EQ(schedule.arrival[1], 5);
  EXPECT_DOUBLE_EQ(schedule.exposed[3], 2);
  EXPECT_DOUBLE_EQ(schedule.exposed[4], 2);
  EXPECT_DOUBLE_EQ(schedule.makespan, 5);
}

TEST(ListSchedule, HidesAnExchangeUnderWhatDoesNotNeedIt) {
  // start, wait, 2 s that need it, 4 s that do not.
  Problem problem{{start(4), wait(0), compute(2, {1}), compute(4)}};
  Schedule schedule = listSchedule(problem);
  EXPECT_EQ(schedule.order, (std::vector<int64_t>{0, 3, 1, 2}));
  EXPECT_DOUBLE_EQ(schedule.makespan, 6);
}

TEST(ListSchedule, OriginalOrderDecidesLast) {
  Problem problem{{compute(1), compute(1), compute(1)}};
  EXPECT_EQ(listSchedule(problem).order, (std::vector<int64_t>{0, 1, 2}));
}

/// Layers as the compiler sees them: attention, router, dispatch, experts, combine, shared expert; in FarSkip form the
/// next attention does not need the combine.
Problem layers(std::mt19937 &random, int count, bool farskip) {
  std::uniform_real_distribution<double> time(0.1, 4);
  Problem problem;
  auto add = [&](Task task) {
    problem.tasks.push_back(std::move(task));
    return static_cast<int64_t>(problem.tasks.size()) - 1;
  };
  int64_t full = -1, early = -1;
  auto after = [](std::initializer_list<int64_t> given) {
    std::vector<int64_t> result;
    for (int64_t i : given)
      if (i >= 0)
        result.push_back(i);
    return result;
  };
  for (int i = 0; i < count; ++i) {
    int64_t attention = add(compute(time(random), after({farskip ? early : full})));
    int64_t gate = add(compute(time(random) / 8, after({full, farskip ? -1 : attention})));
    int64_t dispatch = add(start(time(random), after({gate})));
    int64_t arrived = add(wait(dispatch));
    int64_t experts = add(compute(time(random), after({arrived})));
    int64_t combine = add(start(time(random), after({experts})));
    int64_t shared = add(compute(time(random), after({full, farskip ? -1 : attention})));
    int64_t back = add(wait(combine));
    early = add(compute(0, after({attention, shared, full})));
    full = add(compute(0, after({early, back})));
  }
  return problem;
}

TEST(ListSchedule, NearTheOptimumOnRandomLayers) {
  std::mt19937 random(1);
  double worst = 1;
  for (int i = 0; i < 200; ++i) {
    Problem problem = layers(random, 1, i % 2);
    ASSERT_EQ(message(problem.check()), "");
    Schedule found = listSchedule(problem);
    ASSERT_EQ(message(verify(problem, found.order)), "");
    std::optional<Schedule> best = exactSchedule(problem);
    ASSERT_TRUE(best);
    worst = std::max(worst, found.makespan / best->makespan);
  }
  EXPECT_LE(worst, 1.02);
}

TEST(ListSchedule, NeverLongerThanTheOriginalOrder) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    Problem problem = layers(random, 1 + i % 6, i % 2);
    std::vector<int64_t> original(problem.tasks.size());
    std::iota(original.begin(), original.end(), 0);
    Schedule found = listSchedule(problem);
    ASSERT_EQ(message(verify(problem, found.order)), "");
    EXPECT_LE(found.makespan, simulate(problem, original).makespan);
  }
}

TEST(ExactSchedule, GivesUpWhenTheSearchIsTooLong) {
  std::mt19937 random(3);
  EXPECT_FALSE(exactSchedule(layers(random, 6, true), 1000));
}

} // namespace
