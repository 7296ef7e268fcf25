// The place of this process among ranks that a launcher started.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/World.h"
#include <cstdlib>

namespace farskip::runtime {

namespace {

constexpr int64_t kDefaultPort = 29500;

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

Status number(const char *name, int64_t least, int64_t most, int64_t &value) {
  std::string text = variable(name);
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos ||
      std::stoll(text) < least || std::stoll(text) > most)
    return failure(kUsage, std::string(name) + ": '" + escaped(text) + "' is no number from " + std::to_string(least) +
                               " to " + std::to_string(most));
  value = std::stoll(text);
  return {};
}

struct Launcher {
  const char *rank, *ranks;
};

/// The first of `node[03-07,9],other`.
std::string firstHost(const std::string &list) {
  size_t end = list.find_first_of(",[");
  if (end == std::string::npos || list[end] == ',')
    return list.substr(0, end);
  return list.substr(0, end) + list.substr(end + 1, list.find_first_of(",-]", end) - end - 1);
}

} // namespace

Status readWorld(World &world) {
  static const Launcher torchrun = {"RANK", "WORLD_SIZE"}, slurm = {"SLURM_PROCID", "SLURM_NTASKS"},
                        openMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"};
  const Launcher *launcher = std::getenv("RANK") && std::getenv("WORLD_SIZE")              ? &torchrun
                             : std::getenv("SLURM_PROCID") && std::getenv("SLURM_STEP_ID") ? &slurm
                             : std::getenv("OMPI_COMM_WORLD_RANK")                         ? &openMpi
                                                                                           : nullptr;
  if (!launcher)
    return {};
  if (Status status = number(launcher->ranks, 1, 99999, world.ranks); !status.ok() || world.ranks == 1)
    return status;
  if (Status status = number(launcher->rank, 0, world.ranks - 1, world.rank); !status.ok())
    return status;
  world.present = true;
  world.host = variable("MASTER_ADDR");
  if (world.host.empty() && launcher == &slurm)
    world.host = firstHost(variable("SLURM_STEP_NODELIST"));
  if (world.host.empty() && launcher == &openMpi &&
      variable("OMPI_COMM_WORLD_LOCAL_SIZE") == variable("OMPI_COMM_WORLD_SIZE"))
    world.host = "127.0.0.1";
  if (world.host.empty())
    return failure(kUsage, "MASTER_ADDR is missing: the address of rank 0");
  int64_t port = kDefaultPort;
  if (std::getenv("MASTER_PORT") || launcher == &torchrun) {
    if (Status status = number("MASTER_PORT", 1, 65534, port); !status.ok())
      return status;
  } else if (launcher == &slurm) {
    port += std::atoll(variable("SLURM_JOB_ID").c_str()) % 1000;
  }
  // There the launcher itself listens on the port.
  if (variable("TORCHELASTIC_USE_AGENT_STORE") == "True")
    ++port;
  world.port = static_cast<int>(port);
  return {};
}

} // namespace farskip::runtime
