/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c_modules - the modules of Python whose C functions are recorded (c_calls).
 *
 * Threads  any.
 * Memory   what is returned lies in the config, or is static.
 * Errors   NULL for fine, else why not.
 * Units    none.
 */
#ifndef CONFIG_C_MODULES_H
#define CONFIG_C_MODULES_H

#include "config/config.h"

/* Names with commas between them: "numpy,scipy.special"; "": none. "all" is one of them:
 * of any module, as far as the interpreter tells of it. */
const char *c_modules_of(const struct config *c);
bool c_modules_have_all(const struct config *c);
const char *c_modules_check(const char *value);

#endif
