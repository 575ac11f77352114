#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The call sites that allocate most are on the threads' rows, be their blocks ever so small."""
import os
import sys

import prof

# 20 MB in blocks that never are among the largest, 12 MB in those that are.
SOURCE = """
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void small(void) { free(kept = malloc(200)); }
__attribute__((noinline)) void large(void) { free(kept = malloc(4096)); }
int main(void)
{
	for (int i = 0; i < 3000; i++)
		large();
	for (int i = 0; i < 100000; i++)
		small();
}
"""


def key(site):
    return site["stack"], site["op"], site["call"]


def check(trace):
    sites, shown = trace.facts["heap"]["sites"], {}
    events = [e["args"] for e in trace.raw["traceEvents"] if e.get("cat") == "heap"]
    for event in events:
        shown.setdefault(key(event), []).append(event["bytes"])
    total = {key(site): site["bytes"] for site in sites}
    assert all(event["site_bytes"] == total[key(event)] for event in events)
    top = sorted(sites, key=lambda site: -site["bytes"])
    assert top[0]["max"] == 200 and top[1]["max"] == 4096, top[:2]
    for site in top[:100]:
        assert max(shown.get(key(site), [0])) == site["max"], (site, shown.get(key(site)))
    assert 1000 < len(events) <= 1100, len(events)
    assert sum(event["bytes"] >= 4096 for event in events) >= 1000


def test_many_small_blocks_are_a_large_site():
    with prof.folder() as log:
        source, program = os.path.join(log, "sites.c"), os.path.join(log, "sites")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        assert prof.plain(["cc", "-g", "-o", program, source]).returncode == 0
        for mode, given in (("all", {}), ("sample", {"malloc_sample_kb": 4})):
            run = prof.launch([program], os.path.join(log, mode), malloc=mode, marker="none",
                              buffer_mb=256, **given)
            check(run.only())
            prof.strict(run.paths())


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
