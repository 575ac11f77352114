/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder know of the process. */
#include "agent/agent.h"

struct agent agent;
