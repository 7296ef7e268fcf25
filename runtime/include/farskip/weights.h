/* The layout of a program's weights file, for the compiler that writes it and the run-time that maps it.
   SPDX-License-Identifier: Apache-2.0 */
#ifndef FARSKIP_WEIGHTS_H
#define FARSKIP_WEIGHTS_H

#include <stdint.h>

/* The file starts with this header; data follows at offsets (from the start of the file) that are multiples of 64.
   All numbers are little-endian. */
typedef struct {
  char magic[8];        /* "FSKWGHT1" */
  uint32_t version;     /* 1 */
  uint32_t zero;        /* 0 */
  uint64_t total_bytes; /* size of the file */
  char build_id[32];    /* hex digits; the program's build id */
  uint8_t reserved[8];  /* 0 */
} farskip_weights_header;

#endif
