/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python - whether the PyTorch of a Python would be recorded; for doctor.
 *
 * Threads  one.
 * Memory   the caller's.
 * Errors   said as verdicts.
 * Units    none.
 */
#ifndef LAUNCHER_DOCTOR_PYTHON_H
#define LAUNCHER_DOCTOR_PYTHON_H

#include "config/config.h"
#include "launcher/doctor/probe.h"
#include "launcher/target.h"

bool doctor_is_python(const struct target *t);
/* Runs it under the agent; *p keeps what it said. */
void doctor_python(const struct config *c, const struct target *t, const char *agent,
		   struct probe *p);

#endif
