/* SPDX-License-Identifier: Apache-2.0 */
/*
 * man_verbs - the manual pages of recover, memory, export, doctor and bottleneck.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none.
 * Units    none.
 */
#ifndef LAUNCHER_MAN_VERBS_H
#define LAUNCHER_MAN_VERBS_H

void man_verbs_recover(void);
void man_verbs_memory(void);
void man_verbs_export(void);
void man_verbs_doctor(void);
void man_verbs_bottleneck(void);

#endif
