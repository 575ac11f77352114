# SPDX-License-Identifier: Apache-2.0
"""in_tty.py KEY COMMAND... - the command on a terminal of its own; KEY is typed after 0.7 s.

KEY is "none", or a letter that is typed with the control key.  Lines of proflaunch's own,
which a terminal cannot tell from the program's, are left out.
"""
import os
import pty
import re
import select
import sys
import time

pid, terminal = pty.fork()
if not pid:
    os.execvp(sys.argv[2], sys.argv[2:])
key = b"" if sys.argv[1] == "none" else bytes([ord(sys.argv[1]) - 64])
start, said = time.monotonic(), b""
while True:
    if key and time.monotonic() > start + 0.7:
        os.write(terminal, key)
        key = b""
    if not select.select([terminal], [], [], 0.05)[0]:
        continue
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    said += data
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
said = re.sub(rb"(?m)^(\x1b\[[0-9;]*m)?proflaunch(\[\d+\])?:.*\n", b"", said.replace(b"\r\n", b"\n"))
sys.stdout.buffer.write(said)
print("status", status)
