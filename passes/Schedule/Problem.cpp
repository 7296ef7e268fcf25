// Scheduling without IR: checks and simulation.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Schedule/Problem.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

using namespace farskip::schedule;

static llvm::Error wrong(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error Problem::check() const {
  std::vector<int64_t> waits(tasks.size(), 0);
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Task &task = tasks[i];
    if (!(task.seconds >= 0) || !(task.transfer >= 0) || std::isinf(task.seconds) || std::isinf(task.transfer))
      return wrong("task " + llvm::Twine(i) + " has a time that is negative or no number");
    for (int64_t before : task.after)
      if (before < 0 || before >= static_cast<int64_t>(i))
        return wrong("task " + llvm::Twine(i) + " comes before task " + llvm::Twine(before) + ", on which it depends");
    if (task.kind != Task::Kind::Wait)
      continue;
    if (task.start < 0 || task.start >= static_cast<int64_t>(i) || tasks[task.start].kind != Task::Kind::Start)
      return wrong("task " + llvm::Twine(i) + " waits for no start before it");
    ++waits[task.start];
  }
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].kind == Task::Kind::Start && waits[i] != 1)
      return wrong("start " + llvm::Twine(i) + " is waited for " + llvm::Twine(waits[i]) + " times");
  return llvm::Error::success();
}

Schedule farskip::schedule::simulate(const Problem &problem, llvm::ArrayRef<int64_t> order) {
  size_t count = problem.tasks.size();
  Schedule schedule;
  schedule.order.assign(order.begin(), order.end());
  schedule.begin.assign(count, 0);
  schedule.end.assign(count, 0);
  schedule.arrival.assign(count, 0);
  schedule.exposed.assign(count, 0);
  double now = 0, linkFree = 0;
  for (int64_t i : order) {
    const Task &task = problem.tasks[i];
    schedule.begin[i] = now;
    if (task.kind == Task::Kind::Wait) {
      double arrival = schedule.arrival[task.start];
      schedule.exposed[i] = std::max(0.0, arrival - now);
      now = std::max(now, arrival);
    }
    now += task.seconds;
    schedule.end[i] = now;
    if (task.kind == Task::Kind::Start) {
      linkFree = std::max(linkFree, now) + task.transfer;
      schedule.arrival[i] = linkFree;
    }
  }
  schedule.makespan = now;
  return schedule;
}

llvm::Error farskip::schedule::verify(const Problem &problem, llvm::ArrayRef<int64_t> order) {
  if (order.size() != problem.tasks.size())
    return wrong("an order of " + llvm::Twine(order.size()) + " tasks, wanted " + llvm::Twine(problem.tasks.size()));
  std::vector<bool> done(order.size(), false);
  for (int64_t i : order) {
    if (i < 0 || i >= static_cast<int64_t>(order.size()) || done[i])
      return wrong("task " + llvm::Twine(i) + " does not exist or comes twice");
    const Task &task = problem.tasks[i];
    for (int64_t before : task.after)
      if (!done[before])
        return wrong("task " + llvm::Twine(i) + " comes before task " + llvm::Twine(before) + ", on which it depends");
    if (task.kind == Task::Kind::Wait && !done[task.start])
      return wrong("task " + llvm::Twine(i) + " waits before its start, task " + llvm::Twine(task.start));
    done[i] = true;
  }
  return llvm::Error::success();
}
