/* SPDX-License-Identifier: Apache-2.0 */
/* One definition for agent and launcher. With initial-exec it lies in the block that
 * the loader makes for each thread, so that to read it never allocates: hooks of
 * malloc ask for it first of all. */
#include "base/guard.h"

__thread uintptr_t guard_word __attribute__((tls_model("initial-exec")));
