"""A receiver of alerts on loopback: what it was sent, and the answer it is told to give."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """got: (path, headers, body) of each POST; status: what it answers."""

    url: str = ""
    status: int = 200
    got: list = field(default_factory=list)

    @property
    def bodies(self):
        return [json.loads(body) for _, _, body in self.got]


@contextmanager
def receiving():
    receiver = Receiver()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self):
            receiver.got.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(receiver.status)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(b"said \x1b[31m no")

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=[0.05])
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
