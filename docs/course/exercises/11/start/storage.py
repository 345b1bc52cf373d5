"""A storage without a fence: python3 storage.py --listen 127.0.0.1:8080

Give it one. docs/your-storage.md says what a fenced storage must do.
"""
import argparse, http.server, urllib.parse

PATH = "/v1/kv/"
DATA = {}  # key: value


class Storage(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        key = self.key()
        DATA[key] = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(204)

    def do_DELETE(self):
        DATA.pop(self.key(), None)
        self.answer(204)

    def do_GET(self):
        value = DATA.get(self.key())
        if value is None:
            return self.answer(404, b"no such key")
        self.answer(200, value)

    def key(self):
        return urllib.parse.unquote_to_bytes(self.path.removeprefix(PATH))

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
