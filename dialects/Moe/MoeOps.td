// All operations of the moe dialect.
// SPDX-License-Identifier: Apache-2.0
include "dialects/Moe/MoeAttention.td"
include "dialects/Moe/MoeModelOps.td"
include "dialects/Moe/MoePackedMatMul.td"
include "dialects/Moe/MoeExchangeOps.td"
include "dialects/Moe/MoeProduct.td"
