# SPDX-License-Identifier: Apache-2.0
"""Every kind of operator argument once (inputs_zoo.py)."""
import inputs_zoo
from harness import profiled

# A symbolic size has no text without calling Python, which we never do from inside an
# operator: torch prints "s27", we leave it out.  compile.py looks at compiled programs.
with profiled():
    skipped = inputs_zoo.run(leave_out=("compiled",))
print(len(inputs_zoo.CASES), [name.split()[0] for name in skipped])
