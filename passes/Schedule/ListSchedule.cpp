// List scheduling.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Schedule/Problem.h"
#include <numeric>
#include <set>

using namespace farskip::schedule;

namespace {

class ListScheduler {
public:
  /// `patience`: an exchange that arrives within this part of a task's time is rather waited for, when more hangs on
  /// it. `weight`: how much computation counts on the way to the end beside exchanges.
  /// `fit`: of the tasks that may run, the one that fills the time until the next arrival best.
  ListScheduler(const Problem &problem, double patience, double weight, bool fit)
      : problem(problem), patience(patience), fit(fit), count(problem.tasks.size()), successors(count),
        missing(count, 0), way(count, 0), arrival(count, 0) {
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
    // The longest way from the beginning of a task to the end.
    for (size_t i = count; i-- > 0;) {
      double behind = 0;
      for (int64_t next : successors[i]) {
        bool waits =
            problem.tasks[next].kind == Task::Kind::Wait && problem.tasks[next].start == static_cast<int64_t>(i);
        behind = std::max(behind, way[next] + (waits ? problem.tasks[i].transfer : 0));
      }
      way[i] = weight * problem.tasks[i].seconds + behind;
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
    if (ready.empty())
      return pending.begin()->second;
    int64_t first = *ready.begin();
    if (!pending.empty()) {
      auto [arrives, waiting] = *pending.begin();
      if (way[waiting] > way[first] && arrives - now < patience * problem.tasks[first].seconds)
        return waiting;
      if (fit)
        return fitting(arrives - now);
    }
    return first;
  }

  /// The shortest task that lasts for `window`, else the longest; among the first few.
  int64_t fitting(double window) const {
    int64_t best = *ready.begin(), looked = 0;
    auto lasts = [&](int64_t i) { return problem.tasks[i].seconds >= window; };
    for (int64_t i : ready) {
      double seconds = problem.tasks[i].seconds, current = problem.tasks[best].seconds;
      if (lasts(i) ? !lasts(best) || seconds < current : !lasts(best) && seconds > current)
        best = i;
      if (++looked == 8)
        break;
    }
    return best;
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
  double patience;
  bool fit;
  size_t count;
  std::vector<std::vector<int64_t>> successors;
  std::vector<int64_t> missing;
  std::vector<double> way, arrival;
  std::vector<int64_t> order;
  std::set<int64_t, Before> ready{Before{way}};
  std::set<std::pair<double, int64_t>> pending;
  double now = 0, linkFree = 0;
};

/// Moves runs of up to four tasks to other legal places, and exchanges two tasks, while that shortens the schedule.
void improve(const Problem &problem, Schedule &best) {
  auto tried = [&](std::vector<int64_t> order) {
    if (llvm::Error error = verify(problem, order)) {
      llvm::consumeError(std::move(error));
      return false;
    }
    Schedule found = simulate(problem, order);
    if (found.makespan >= best.makespan)
      return false;
    best = std::move(found);
    return true;
  };
  size_t count = best.order.size();
  auto moved = [&](size_t from, size_t length, size_t to) {
    std::vector<int64_t> order = best.order;
    auto first = order.begin() + from, last = first + length;
    std::vector<int64_t> run(first, last);
    order.erase(first, last);
    order.insert(order.begin() + to, run.begin(), run.end());
    return order;
  };
  auto exchanged = [&](size_t i, size_t j) {
    std::vector<int64_t> order = best.order;
    std::swap(order[i], order[j]);
    return order;
  };
  for (bool better = true; better;) {
    better = false;
    for (size_t i = 0; i < count; ++i)
      for (size_t j = i + 1; j < count; ++j)
        better |= tried(exchanged(i, j));
    for (size_t length = 1; length <= 4; ++length)
      for (size_t from = 0; from + length <= count; ++from)
        for (size_t to = 0; to + length <= count; ++to)
          better |= to != from && tried(moved(from, length, to));
  }
}

/// Problems up to this size are improved further.
constexpr size_t kSmall = 32;

} // namespace

Schedule farskip::schedule::listSchedule(const Problem &problem) {
  std::vector<int64_t> original(problem.tasks.size());
  std::iota(original.begin(), original.end(), 0);
  Schedule best = simulate(problem, original);
  for (double weight : {1.0, 0.25, 0.0})
    for (double patience : {0.0, 0.1, 0.25, 0.5, 0.75, 1.0})
      for (bool fit : {false, true}) {
        Schedule found = simulate(problem, ListScheduler(problem, patience, weight, fit).run());
        if (found.makespan < best.makespan)
          best = std::move(found);
      }
  if (problem.tasks.size() <= kSmall)
    improve(problem, best);
  return best;
}
