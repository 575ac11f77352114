/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices - the GPUs: what CUPTI and the driver say of them.
 *
 * Threads  the consumer, but where said.
 * Memory   static.
 * Errors   what is not known is 0.
 * Units    ns of CUPTI's clock.
 */
#ifndef CUPTI_LIB_DEVICES_H
#define CUPTI_LIB_DEVICES_H

#include "agent/core/gpu_chunk.h"

/* A DEVICE record of CUPTI's: it is copied, its name with it. */
void devices_seen(const uint8_t *record);
/* Work ran on `device`: the driver is asked about it where no DEVICE record told. Numbers
 * from 64 on are left out. */
void devices_used(uint32_t device);
/* From here on devices_seen and devices_write ask the driver nothing: the driver, or
 * CUPTI on the way to it, may hang. Any thread. */
void devices_mute(void);
void devices_write(struct side *side, uint64_t begin); /* a REC_GPU for each */
uint32_t devices_driver(void); /* cuDriverGetVersion, 0 = no driver. Any thread. */

#endif
