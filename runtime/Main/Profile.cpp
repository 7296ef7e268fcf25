// What --profile and --trace show.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Main/Profile.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace farskip::runtime {

using Json = nlohmann::ordered_json;

namespace {

struct RunFigures {
  size_t runs;
  double total, first, median, fastest, slowest;
};

RunFigures figuresOf(const std::vector<double> &seconds) {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return {sorted.size(),   std::accumulate(sorted.begin(), sorted.end(), 0.0),
          seconds.front(), sorted[sorted.size() / 2],
          sorted.front(),  sorted.back()};
}

/// One operation over all ranks. Times are means over ranks.
struct OpFigures {
  int64_t op;
  Kind kind;
  std::string name;
  int64_t layer = -1, count = 0, bytes = 0;
  double exposed = 0, span = 0;

  /// The share of the exchanges' time in which the rank did something else.
  double hidden() const { return span > 0 ? std::max(0.0, 1 - exposed / span) : 0; }
};

/// What belongs to the start and the end of the ranks is no part of a run.
bool isOfRuns(int64_t op, Kind kind) { return op >= 0 || kind == Kind::Tokens; }

std::vector<OpFigures> opFigures(const Description &description, const std::vector<RankResults> &results) {
  std::vector<OpFigures> list;
  for (const auto &[key, first] : results[0].totals) {
    auto [op, kind] = key;
    if (!isOfRuns(op, kind))
      continue;
    OpFigures figures;
    figures.op = op;
    figures.kind = kind;
    figures.count = first.count;
    if (op >= 0 && op < static_cast<int64_t>(description.collectives.size())) {
      figures.name = description.collectives[op].name;
      figures.layer = description.collectives[op].layer;
    }
    for (const RankResults &result : results)
      if (auto found = result.totals.find(key); found != result.totals.end()) {
        figures.bytes += found->second.sentBytes;
        figures.exposed += static_cast<double>(found->second.exposedNs) * 1e-9 / results.size();
        figures.span += static_cast<double>(found->second.spanNs) * 1e-9 / results.size();
      }
    list.push_back(figures);
  }
  return list;
}

struct RankFigures {
  double total, exposed = 0;
  int64_t bytes = 0;
};

RankFigures rankFigures(const RankResults &result) {
  RankFigures figures = {std::accumulate(result.seconds.begin(), result.seconds.end(), 0.0)};
  for (const auto &[key, totals] : result.totals) {
    if (key.first < 0)
      continue;
    figures.exposed += static_cast<double>(totals.exposedNs) * 1e-9;
    figures.bytes += totals.sentBytes;
  }
  return figures;
}

std::vector<std::pair<const char *, double>> phases(const std::vector<RankResults> &results,
                                                    const ProgramTimes &times) {
  RunFigures runs = figuresOf(results[0].seconds);
  return {{"load", times.load},
          {"start", results[0].startSeconds},
          {"first_run", runs.first},
          {"other_runs", runs.total - runs.first},
          {"end", std::max(0.0, times.ranks - results[0].startSeconds - runs.total)},
          {"outputs", times.outputs}};
}

/// Of the program's own operations.
OpFigures sumOf(const std::vector<OpFigures> &list) {
  OpFigures sum{};
  for (const OpFigures &figures : list) {
    if (figures.op < 0)
      continue;
    sum.count += figures.count;
    sum.bytes += figures.bytes;
    sum.exposed += figures.exposed;
    sum.span += figures.span;
  }
  return sum;
}

template <typename... Values> std::string line(const char *format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string opRow(const char *kind, const OpFigures &figures, const std::string &layer) {
  return line("  %-14s %5s %8lld %14lld %12.3f %12.3f %7.1f%%", kind, layer.c_str(),
              static_cast<long long>(figures.count), static_cast<long long>(figures.bytes), figures.exposed * 1e3,
              figures.span * 1e3, figures.hidden() * 100);
}

Json opJson(const OpFigures &figures) {
  return {{"count", figures.count},
          {"bytes", figures.bytes},
          {"exposed_s", figures.exposed},
          {"span_s", figures.span},
          {"hidden_share", figures.hidden()}};
}

} // namespace

std::string profileTable(const Description &description, const std::vector<RankResults> &results,
                         const ProgramTimes &times) {
  RunFigures runs = figuresOf(results[0].seconds);
  std::string text = "profile of " + std::to_string(results.size()) + (results.size() == 1 ? " rank\n" : " ranks\n");
  text += line("  %-10s %12zu\n", "runs", runs.runs);
  const std::pair<const char *, double> rows[] = {{"total", runs.total},
                                                  {"first", runs.first},
                                                  {"median", runs.median},
                                                  {"fastest", runs.fastest},
                                                  {"slowest", runs.slowest}};
  for (auto [name, seconds] : rows)
    text += line("  %-10s %9.3f ms\n", name, seconds * 1e3);
  text += "phases\n";
  for (auto [name, seconds] : phases(results, times))
    text += line("  %-10s %9.3f ms\n", name, seconds * 1e3);
  std::vector<OpFigures> list = opFigures(description, results);
  if (list.empty())
    return text;
  text += line("collectives\n  %-14s %5s %8s %14s %12s %12s %8s\n", "kind", "layer", "count", "bytes", "exposed ms",
               "span ms", "hidden");
  for (const OpFigures &figures : list)
    text += opRow(kindName(figures.kind), figures, figures.layer < 0 ? "-" : std::to_string(figures.layer)) +
            (figures.name.empty() ? "" : "  " + escaped(figures.name)) + "\n";
  text += opRow("all", sumOf(list), "-") + "\n";
  if (results.size() == 1)
    return text;
  text += line("ranks\n  %4s %12s %12s %12s %14s\n", "rank", "total ms", "compute ms", "exposed ms", "bytes");
  for (size_t rank = 0; rank < results.size(); ++rank) {
    RankFigures figures = rankFigures(results[rank]);
    text += line("  %4zu %12.3f %12.3f %12.3f %14lld\n", rank, figures.total * 1e3,
                 (figures.total - figures.exposed) * 1e3, figures.exposed * 1e3, static_cast<long long>(figures.bytes));
  }
  return text;
}

std::string profileJson(const Description &description, const std::vector<RankResults> &results,
                        const ProgramTimes &times) {
  RunFigures runs = figuresOf(results[0].seconds);
  Json json = {{"runs", runs.runs},       {"ranks", results.size()}, {"total_s", runs.total}, {"first_s", runs.first},
               {"median_s", runs.median}, {"min_s", runs.fastest},   {"max_s", runs.slowest}};
  for (auto [name, seconds] : phases(results, times))
    json["phases"][std::string(name) + "_s"] = seconds;
  std::vector<OpFigures> list = opFigures(description, results);
  json["collectives"] = Json::array();
  for (const OpFigures &figures : list) {
    Json entry = {
        {"op", figures.op}, {"kind", kindName(figures.kind)}, {"name", figures.name}, {"layer", figures.layer}};
    entry.update(opJson(figures));
    json["collectives"].push_back(entry);
  }
  json["collectives_total"] = opJson(sumOf(list));
  json["per_rank"] = Json::array();
  for (const RankResults &result : results) {
    RankFigures figures = rankFigures(result);
    json["per_rank"].push_back({{"total_s", figures.total},
                                {"compute_s", figures.total - figures.exposed},
                                {"exposed_s", figures.exposed},
                                {"bytes", figures.bytes}});
  }
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string traceJson(const Description &description, const std::vector<RankResults> &results) {
  int64_t origin = INT64_MAX;
  for (const RankResults &result : results)
    for (const TraceEvent &event : result.trace)
      origin = std::min(origin, event.startNs);
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const char *separator = "";
  auto add = [&](const Json &event) {
    text += separator + event.dump(-1, ' ', true, Json::error_handler_t::replace);
    separator = ",\n";
  };
  for (size_t rank = 0; rank < results.size(); ++rank) {
    add({{"name", "process_name"}, {"ph", "M"}, {"pid", rank}, {"args", {{"name", "rank " + std::to_string(rank)}}}});
    const char *rows[] = {"compute", "communicator"};
    for (int row = 0; row < 2; ++row)
      add({{"name", "thread_name"}, {"ph", "M"}, {"pid", rank}, {"tid", row}, {"args", {{"name", rows[row]}}}});
    for (const TraceEvent &event : results[rank].trace) {
      bool exchanging = event.row == TraceEvent::Exchanging;
      std::string op = Control::opText(&description, event.kind, event.op);
      Json json = {{"name", event.row == TraceEvent::Compute   ? "compute"
                            : event.row == TraceEvent::Waiting ? "wait for " + op
                                                               : op},
                   {"cat", event.row == TraceEvent::Compute ? "compute"
                           : exchanging                     ? "exchange"
                                                            : "wait"},
                   {"ph", "X"},
                   {"pid", rank},
                   {"tid", exchanging ? 1 : 0},
                   {"ts", static_cast<double>(event.startNs - origin) * 1e-3},
                   {"dur", static_cast<double>(event.endNs - event.startNs) * 1e-3}};
      if (event.row != TraceEvent::Compute)
        json["args"] = {{"exchange", event.sequence}};
      if (exchanging)
        json["args"].update({{"bytes", event.bytes}, {"queued_us", static_cast<double>(event.queuedNs) * 1e-3}});
      add(json);
    }
  }
  return text + "\n]}\n";
}

} // namespace farskip::runtime
