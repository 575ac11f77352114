# SPDX-License-Identifier: Apache-2.0
"""Short processes side by side with a parent that allocates: each must say its number."""
import subprocess
import sys

kept, right = [], 0
for n in range(int(sys.argv[1])):
    kept.append([bytearray(500) for _ in range(200)])
    out = subprocess.run(["/bin/echo", str(n)], stdout=subprocess.PIPE, check=False).stdout
    right += int(out) == n
print(right)
