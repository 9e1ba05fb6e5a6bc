#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves the files of a folder on loopback, correctly or with faults: /<behaviour>/<file>.

Prints its port. With a second argument, a PEM file of a key and its certificate, by https.

/log/<behaviour>/<file> gives what was asked for there, a line for each request:
the Range header or "-". Ends with its standard input.

Also a proxy for http: an absolute URL in a request line is served as if it were this server's,
and logged below /proxied/.
"""
import os
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder = sys.argv[1]
lock = threading.Lock()
requests = {}
gate = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        _, behaviour, name = (url.path.split("/", 2) + ["", ""])[:3]
        if behaviour == "log":
            with lock:
                return self.answer(200, "".join(line + "\n" for line in requests.get("/" + name, [])).encode())
        if behaviour == "open":
            gate.set()
            return self.answer(200, b"")
        with lock:
            if url.netloc:
                requests.setdefault("/proxied" + url.path, []).append(url.netloc)
            seen = requests.setdefault(url.path, [])
            seen.append(self.headers.get("Range", "-"))
            count = len(seen)
        try:
            getattr(self, "serve_" + behaviour.replace("-", "_"))(name, count)
        except OSError:
            self.close_connection = True  # the client has disconnected

    def content(self, name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    def head(self, status, length=None, **headers):
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()

    def answer(self, status, body, **headers):
        self.head(status, len(body), **headers)
        self.wfile.write(body)

    def hang_up(self):
        self.close_connection = True

    def redirect(self, target):
        self.answer(302, b"this way", Location=target)

    # The behaviours.

    def serve_ok(self, name, _):
        body = self.content(name)
        asked = self.headers.get("Range")
        if asked is None:
            return self.answer(200, body)
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start >= len(body):
            return self.answer(416, b"")
        self.answer(206, body[start:], Content_Range=f"bytes {start}-{len(body) - 1}/{len(body)}")

    def serve_no_ranges(self, name, _):
        self.answer(200, self.content(name))

    def serve_other_range(self, name, count):
        body = self.content(name)
        if count > 1:
            return self.answer(200, body)
        self.answer(206, body[1:], Content_Range=f"bytes 1-{len(body) - 1}/{len(body)}")

    def serve_slow(self, name, _):
        """Sends a byte from time to time, until the client disconnects."""
        body = self.content(name)
        self.head(200, len(body))
        pause = threading.Event()
        for byte in body:
            self.wfile.write(bytes([byte]))
            pause.wait(0.05)

    def serve_silent(self, name, _):
        """Accepts the request and sends nothing until the client disconnects."""
        self.rfile.read(1)

    def serve_cut(self, name, count):
        """Closes the connection in the middle, the first time."""
        if count > 1:
            return self.serve_ok(name, count)
        body = self.content(name)
        self.head(200, len(body))
        self.wfile.write(body[: len(body) // 2])
        self.hang_up()

    def serve_cut_no_ranges(self, name, count):
        if count > 1:
            return self.serve_no_ranges(name, count)
        self.serve_cut(name, count)

    def serve_always_cut(self, name, _):
        self.serve_cut(name, 1)

    def serve_short(self, name, _):
        self.answer(200, self.content(name)[:-1])

    def serve_short_untold(self, name, _):
        self.head(200, Connection="close")
        self.wfile.write(self.content(name)[:-1])
        self.hang_up()

    def serve_long(self, name, _):
        self.answer(200, self.content(name) + b"more")

    def serve_endless(self, name, _):
        self.head(200, Connection="close")
        while True:
            self.wfile.write(bytes(1 << 16))

    def serve_empty(self, name, _):
        self.answer(200, b"")

    def serve_wrong(self, name, _):
        self.answer(200, bytes(byte ^ 1 for byte in self.content(name)))

    def serve_loop(self, name, _):
        self.redirect("/loop/" + name)

    def serve_moved(self, name, _):
        self.redirect("/ok/" + name)

    def serve_to_file(self, name, _):
        self.redirect("file://" + urllib.parse.quote(os.path.join(folder, name)))

    def serve_to_stranger(self, name, _):
        self.redirect("http://example.invalid/" + name)

    def serve_to_http(self, name, _):
        self.redirect("http://127.0.0.1:1/" + name)

    def serve_nowhere(self, name, _):
        self.answer(302, b"")

    def serve_404(self, name, _):
        self.answer(404, b"no such file")

    def serve_no_content(self, name, _):
        self.head(204)

    def serve_500(self, name, _):
        self.answer(500, b"a mishap")

    def serve_500_then_ok(self, name, count):
        if count == 1:
            return self.serve_500(name, count)
        self.serve_ok(name, count)

    def serve_gate(self, name, count):
        """Waits for a request to /open."""
        gate.wait(60)
        self.serve_ok(name, count)

    def serve_gate_404(self, name, count):
        gate.wait(60)
        self.serve_404(name, count)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # tests include clients that disconnect


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
