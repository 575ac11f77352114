/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text - texts that records point to, which may be anywhere.
 *
 * Threads  the consumer.
 * Memory   pages that were readable; static.
 * Errors   false: there is no text.
 * Units    bytes.
 */
#ifndef CUPTI_FLOW_TEXT_H
#define CUPTI_FLOW_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes before the NUL (or more than 8192); false: there is no text. */
bool text_length(const char *text, size_t *length);

#endif
