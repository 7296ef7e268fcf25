/* The C interface between a compiled program and the run-time library.
   SPDX-License-Identifier: Apache-2.0

   A compiled program defines `farskip_model_json` and `farskip_model_run`; the
   library defines everything else, `main` included. Memrefs pass as MLIR's
   ranked descriptors: { void *allocated, *aligned; int64_t offset, sizes[rank],
   strides[rank] }, in elements. A bool is one byte. */
#ifndef FARSKIP_RT_H
#define FARSKIP_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct farskip_rt_context farskip_rt_context;
typedef struct farskip_rt_plan farskip_rt_plan;       /* which rows go where: one MoE block of one run */
typedef struct farskip_rt_request farskip_rt_request; /* an exchange under way */

/* Element types, as they stand in `dtype` arguments. */
enum farskip_dtype {
  FARSKIP_F32,
  FARSKIP_F16,
  FARSKIP_BF16,
  FARSKIP_F64,
  FARSKIP_I64,
  FARSKIP_I32,
  FARSKIP_I16,
  FARSKIP_I8,
  FARSKIP_U64,
  FARSKIP_U32,
  FARSKIP_U16,
  FARSKIP_U8,
  FARSKIP_BOOL
};

/* Defined by the compiled program. */
extern const char farskip_model_json[]; /* its description; README.md lists the fields */
void farskip_model_run(farskip_rt_context *context);

/* Fills the descriptor with this rank's slice of input `index`: row-major, the
 * whole input 64-byte aligned. */
void farskip_rt_input_get(farskip_rt_context *context, int64_t index, int64_t rank, void *descriptor);
/* Copies this rank's part of output `index`; any strides. */
void farskip_rt_output_set(farskip_rt_context *context, int64_t index, int64_t rank, const void *descriptor);
/* `offset` counts from the start of the weights file and is a multiple of 64.
 * Read-only. */
const void *farskip_rt_weight_get(farskip_rt_context *context, int64_t offset);
/* The rank's arena, at least `bytes` large, 64-byte aligned; kept between runs,
 * its contents are not. */
void *farskip_rt_arena_get(farskip_rt_context *context, int64_t bytes);
/* Memory for what only the data tells the size of, 64-byte aligned. Never null: without memory the run ends. */
void *farskip_rt_buffer_alloc(farskip_rt_context *context, int64_t bytes);
void farskip_rt_buffer_free(farskip_rt_context *context, void *buffer);
/* Ends the run: an input has a value that the program cannot take. `{0}`,
   `{1}`, ... in the message become values. Does not return; the exit code is 1.
 */
void farskip_rt_run_fail(farskip_rt_context *context, const char *message, const int64_t *values, int64_t count)
    __attribute__((noreturn));
/* Calls `body` on contiguous blocks that cover [begin, end), one per thread and
   none smaller than `grain`. How the range is cut never changes what is
   computed. */
void farskip_rt_parallel_for(farskip_rt_context *context, int64_t begin, int64_t end, int64_t grain,
                             void (*body)(farskip_rt_context *, void *, int64_t, int64_t), void *arguments);
int64_t farskip_rt_rank_get(farskip_rt_context *context);
int64_t farskip_rt_ranks_get(farskip_rt_context *context);

/* Collectives. `op` is an index into "collectives" of the description. Each function here is collective, except those
   that only read a plan, `farskip_rt_request_wait` and `farskip_rt_plan_destroy`: all ranks call it, in the same order
   with the same op, whatever their counts; zero rows is a count like any other. Exchanges run in the order of their
   starts; several may be under way, and waits may come in any order. A start never waits for the other ranks. Buffers
   given to a start stay untouched until its wait. All of them work with one rank too. The results depend on the
   arguments only. A fault (a dead rank, a deadline, ranks that are not in the same exchange) ends every rank. */

/* `experts`: [tokens, slots], row-major: the experts of each token, -1 where a slot is unused. Expert e belongs to the
   rank whose block of [0, expert_count) holds it (the blocks of README.md). A token is sent once to each rank that has
   one of its experts. Any other expert number ends the run with exit code 1. Waits for the other ranks. */
farskip_rt_plan *farskip_rt_plan_create(farskip_rt_context *context, int64_t op, const int32_t *experts, int64_t tokens,
                                        int64_t slots, int64_t expert_count);
/* Rows that this rank gets, its own included; they are ordered by source rank, then token. */
int64_t farskip_rt_plan_received(farskip_rt_context *context, farskip_rt_plan *plan);
/* Pairs of a received row and one of its slots: the rows that this rank's experts compute. */
int64_t farskip_rt_plan_pairs(farskip_rt_context *context, farskip_rt_plan *plan);
/* Pairs in group order: those of expert e are [offsets[e], offsets[e + 1]), by source rank, token and slot; none where
   e is another rank's. `offsets`: [expert_count + 1]; `rows`: [pairs], the received row of each pair. */
void farskip_rt_plan_groups(farskip_rt_context *context, farskip_rt_plan *plan, int64_t *offsets, int64_t *rows);
/* The plan may go while exchanges that use it are under way. */
void farskip_rt_plan_destroy(farskip_rt_context *context, farskip_rt_plan *plan);

/* `rows`: [tokens] rows of this rank; `received`: the rows it gets. */
farskip_rt_request *farskip_rt_dispatch_start(farskip_rt_context *context, int64_t op, farskip_rt_plan *plan,
                                              const void *rows, int64_t row_bytes, void *received);
/* `grouped`: a row for each pair, in group order; `slots`: [tokens, slots] rows at the token's owner, each as it was
   computed, zeros where a slot is unused. */
farskip_rt_request *farskip_rt_combine_start(farskip_rt_context *context, int64_t op, farskip_rt_plan *plan,
                                             const void *grouped, int64_t row_bytes, void *slots);
/* Sums `count` elements of every rank, rank 0 first, into all of them; f16 and bf16 are summed in f32 and rounded once.
   `out` may be `in`. No bool. */
farskip_rt_request *farskip_rt_all_reduce_start(farskip_rt_context *context, int64_t op, const void *in, void *out,
                                                int64_t count, int64_t dtype);
/* `out`: what all ranks gave, in rank order; `bytes` may differ between ranks. */
farskip_rt_request *farskip_rt_all_gather_start(farskip_rt_context *context, int64_t op, const void *in, int64_t bytes,
                                                void *out);
/* Waits for everyone's `count`: `counts` is [ranks]. Returns their sum. */
int64_t farskip_rt_all_gather_counts(farskip_rt_context *context, int64_t op, int64_t count, int64_t *counts);
/* Sums as all_reduce; rank r gets elements [counts[0] + ... + counts[r-1], + counts[r]). `counts`: [ranks], the same
   on all of them. */
farskip_rt_request *farskip_rt_reduce_scatter_start(farskip_rt_context *context, int64_t op, const void *in, void *out,
                                                    const int64_t *counts, int64_t dtype);
/* `send_rows`, `recv_rows`: [ranks]; rows lie in rank order, contiguous. */
farskip_rt_request *farskip_rt_all_to_all_start(farskip_rt_context *context, int64_t op, const void *send,
                                                const int64_t *send_rows, void *recv, const int64_t *recv_rows,
                                                int64_t row_bytes);
void farskip_rt_barrier(farskip_rt_context *context, int64_t op);
/* Waits until the results are there and all buffers are the caller's again; frees the request. */
void farskip_rt_request_wait(farskip_rt_context *context, farskip_rt_request *request);

#ifdef __cplusplus
}
#endif

#endif
