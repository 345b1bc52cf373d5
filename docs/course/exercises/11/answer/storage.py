"""A fenced storage: python3 storage.py --listen 127.0.0.1:8080

Values and marks are in memory, so a restart loses both together.
"""
import argparse, http.server, re, threading, urllib.parse

PATH = "/v1/kv/"
DATA = {}  # key: value
MARKS = {}  # scope: the highest token that was admitted
TURN = threading.Lock()  # of the threads: check, mark and operation are one step


class Storage(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        if "Content-Length" not in self.headers:  # http.server reads no chunks
            return self.answer(411, b"want Content-Length")
        value = self.rfile.read(int(self.headers["Content-Length"]))  # before the check
        self.fenced(lambda key: DATA.update({key: value}))

    def do_DELETE(self):
        self.fenced(lambda key: DATA.pop(key, None))

    def do_GET(self):
        self.fenced(None)

    def fenced(self, change):  # None: a read
        if not self.path.startswith(PATH) or "?" in self.path:
            return self.answer(404, b"no such path")
        key = urllib.parse.unquote_to_bytes(self.path.removeprefix(PATH))
        scope = self.headers.get("Fencing-Scope", key.decode("latin-1"))
        tokens = self.headers.get_all("Fencing-Token")
        token = tokens and ", ".join(tokens)  # two are no number
        if token is None and change:
            return self.answer(428, b"a change needs a Fencing-Token")
        if token is not None and not (re.fullmatch("[1-9][0-9]{0,18}", token) and int(token) < 2**63):
            return self.answer(400, b"Fencing-Token: want a decimal number from 1 to 2^63-1")
        with TURN:
            mark = MARKS.get(scope, 0)
            stale = token is not None and int(token) < mark
            if token is not None and not stale:
                MARKS[scope] = int(token)
            if change and not stale:
                change(key)
            value = DATA.get(key)
        if stale:
            self.answer(412, b"stale: the mark is %d" % mark)
        elif change:
            self.answer(204)
        elif value is None:
            self.answer(404, b"no such key")
        else:
            self.answer(200, value)

    def answer(self, status, body=b""):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


args = argparse.ArgumentParser()
args.add_argument("--listen", default="127.0.0.1:8080")
args = args.parse_args()
host, port = args.listen.rsplit(":", 1)
http.server.ThreadingHTTPServer((host, int(port)), Storage).serve_forever()
