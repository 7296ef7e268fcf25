// List scheduling.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Schedule/Problem.h"
#include <numeric>
#include <set>

using namespace farskip::schedule;

namespace {

class ListScheduler {
public:
  explicit ListScheduler(const Problem &problem)
      : problem(problem), count(problem.tasks.size()), successors(count), missing(count, 0), way(count, 0),
        arrival(count, 0) {
    for (size_t i = 0; i < count; ++i) {
      auto edge = [&](int64_t before) {
        successors[before].push_back(i);
        ++missing[i];
      };
      for (int64_t before : problem.tasks[i].after)
        edge(before);
      if (problem.tasks[i].kind == Task::Kind::Wait)
        edge(problem.tasks[i].start);
    }
    // The longest way from the beginning of a task to the end, exchanges included.
    for (size_t i = count; i-- > 0;) {
      double behind = 0;
      for (int64_t next : successors[i]) {
        bool waits =
            problem.tasks[next].kind == Task::Kind::Wait && problem.tasks[next].start == static_cast<int64_t>(i);
        behind = std::max(behind, way[next] + (waits ? problem.tasks[i].transfer : 0));
      }
      way[i] = problem.tasks[i].seconds + behind;
    }
  }

  std::vector<int64_t> run() {
    for (size_t i = 0; i < count; ++i)
      if (!missing[i])
        release(i);
    while (order.size() < count)
      issue(next());
    return order;
  }

private:
  /// Longest way first, then the original order.
  struct Before {
    const std::vector<double> &way;
    bool operator()(int64_t a, int64_t b) const { return way[a] != way[b] ? way[a] > way[b] : a < b; }
  };

  void release(int64_t i) {
    if (problem.tasks[i].kind == Task::Kind::Wait)
      pending.insert({arrival[problem.tasks[i].start], i});
    else
      ready.insert(i);
  }

  int64_t next() {
    // Exchanges that are done by now compete with everything else.
    while (!pending.empty() && pending.begin()->first <= now) {
      ready.insert(pending.begin()->second);
      pending.erase(pending.begin());
    }
    for (int64_t i : ready)
      if (problem.tasks[i].kind == Task::Kind::Start)
        return i;
    if (!ready.empty())
      return *ready.begin();
    return pending.begin()->second;
  }

  void issue(int64_t i) {
    ready.erase(i);
    const Task &task = problem.tasks[i];
    if (task.kind == Task::Kind::Wait) {
      pending.erase({arrival[task.start], i});
      now = std::max(now, arrival[task.start]);
    }
    now += task.seconds;
    if (task.kind == Task::Kind::Start) {
      linkFree = std::max(linkFree, now) + task.transfer;
      arrival[i] = linkFree;
    }
    order.push_back(i);
    for (int64_t after : successors[i])
      if (!--missing[after])
        release(after);
  }

  const Problem &problem;
  size_t count;
  std::vector<std::vector<int64_t>> successors;
  std::vector<int64_t> missing;
  std::vector<double> way, arrival;
  std::vector<int64_t> order;
  std::set<int64_t, Before> ready{Before{way}};
  std::set<std::pair<double, int64_t>> pending;
  double now = 0, linkFree = 0;
};

} // namespace

Schedule farskip::schedule::listSchedule(const Problem &problem) {
  std::vector<int64_t> original(problem.tasks.size());
  std::iota(original.begin(), original.end(), 0);
  Schedule kept = simulate(problem, original), found = simulate(problem, ListScheduler(problem).run());
  return found.makespan < kept.makespan ? found : kept;
}
