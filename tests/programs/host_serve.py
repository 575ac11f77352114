# SPDX-License-Identifier: Apache-2.0
"""serve.py - serves the work directory on $PORT of the loopback until it is ended."""
import functools
import http.server
import os
import sys

handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="www")
handler.func.log_message = lambda *_: None
handler.func.date_time_string = lambda *_: "now"
with http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), handler) as server:
    open("ready", "w").close()
    server.serve_forever()
    sys.exit(1)
