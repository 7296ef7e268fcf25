// How tokens choose their experts, read off the operators before moe.experts.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_PLAN_ROUTER_H
#define FARSKIP_COMPILER_PLAN_ROUTER_H

#include "compiler/Plan/Plan.h"

namespace farskip {

/// Never fails: what it does not see is left at its default.
RouterPlan readRouter(moe::ExpertsOp experts);

} // namespace farskip

#endif
