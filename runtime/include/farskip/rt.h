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

#ifdef __cplusplus
}
#endif

#endif
