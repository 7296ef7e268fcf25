// The shortest schedule, by branch and bound.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Schedule/Problem.h"
#include <optional>

using namespace farskip::schedule;

namespace {

class Search {
public:
  Search(const Problem &problem, int64_t maxNodes)
      : problem(problem), nodesLeft(maxNodes), done(problem.tasks.size(), false), arrival(problem.tasks.size(), 0),
        tail(problem.tasks.size(), 0) {
    best = listSchedule(problem);
    for (size_t i = problem.tasks.size(); i-- > 0;) {
      const Task &task = problem.tasks[i];
      left += task.seconds;
      auto reach = [&](int64_t before, double between) {
        tail[before] = std::max(tail[before], between + task.seconds + tail[i]);
      };
      for (int64_t before : task.after)
        reach(before, 0);
      if (task.kind == Task::Kind::Wait)
        reach(task.start, problem.tasks[task.start].transfer);
    }
  }

  std::optional<Schedule> run() {
    step(0, 0);
    return nodesLeft < 0 ? std::nullopt : std::optional(best);
  }

private:
  bool isReady(size_t i) const {
    const Task &task = problem.tasks[i];
    for (int64_t before : task.after)
      if (!done[before])
        return false;
    return task.kind != Task::Kind::Wait || done[task.start];
  }

  void step(double now, double linkFree) {
    if (--nodesLeft < 0)
      return;
    if (order.size() == problem.tasks.size()) {
      if (now < best.makespan)
        best = simulate(problem, order);
      return;
    }
    if (now + left >= best.makespan)
      return;
    for (size_t i = 0; i < done.size() && nodesLeft >= 0; ++i) {
      if (done[i] || !isReady(i))
        continue;
      const Task &task = problem.tasks[i];
      double end = now, link = linkFree;
      if (task.kind == Task::Kind::Wait)
        end = std::max(end, arrival[task.start]);
      end += task.seconds;
      if (task.kind == Task::Kind::Start)
        arrival[i] = link = std::max(link, end) + task.transfer;
      if (end + tail[i] >= best.makespan)
        continue;
      done[i] = true;
      order.push_back(i);
      left -= task.seconds;
      step(end, link);
      left += task.seconds;
      order.pop_back();
      done[i] = false;
    }
  }

  const Problem &problem;
  int64_t nodesLeft;
  std::vector<bool> done;
  std::vector<double> arrival, tail;
  std::vector<int64_t> order;
  double left = 0;
  Schedule best;
};

} // namespace

std::optional<Schedule> farskip::schedule::exactSchedule(const Problem &problem, int64_t maxNodes) {
  return Search(problem, maxNodes).run();
}
