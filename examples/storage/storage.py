"""A fenced storage: python3 storage.py --listen 127.0.0.1:8080 --dir data

Value and mark are in one SQLite file. One transaction checks the token, raises the mark
and changes the value. So all laws hold, also with two of these processes on one file.
"""
import argparse, contextlib, http.server, os, re, sqlite3, threading, urllib.parse

PATH = "/v1/kv/"
TURN = threading.Lock()  # of this process; SQLite makes processes take turns too, but slowly


class Storage(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        self.fenced("INSERT OR REPLACE INTO kv VALUES (:key, :value)", self.body())

    def do_DELETE(self):
        self.fenced("DELETE FROM kv WHERE key = :key")

    def do_GET(self):
        self.fenced("SELECT value FROM kv WHERE key = :key")

    def body(self):  # all of it, before anything is checked
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def fenced(self, sql, value=b""):
        if not self.path.startswith(PATH) or "?" in self.path:
            return self.answer(404, b"no such path")
        key = urllib.parse.unquote_to_bytes(self.path.removeprefix(PATH))
        scope = self.headers.get("Fencing-Scope", key.decode("latin-1"))
        token = self.headers.get("Fencing-Token")
        reading = sql.startswith("SELECT")
        if token is None and not reading:
            return self.answer(428, b"a change needs a Fencing-Token")
        if token is not None and not (re.fullmatch("[1-9][0-9]{0,18}", token) and int(token) < 2**63):
            return self.answer(400, b"Fencing-Token: want a decimal number from 1 to 2^63-1")
        with TURN, contextlib.closing(sqlite3.connect(self.server.file, timeout=60, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")  # nobody else changes anything until COMMIT
            if token is not None:
                mark = db.execute("SELECT mark FROM marks WHERE scope = ?", [scope]).fetchone() or [0]
                if int(token) < mark[0]:
                    return self.answer(412, b"stale: the mark is %d" % mark[0])
                db.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", [scope, int(token)])
            found = db.execute(sql, {"key": key, "value": value}).fetchone()
            db.execute("COMMIT")
        if reading:
            return self.answer(200, found[0]) if found else self.answer(404, b"no such key")
        self.answer(204)

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
args.add_argument("--dir", default="data")
args = args.parse_args()
os.makedirs(args.dir, exist_ok=True)
host, port = args.listen.rsplit(":", 1)
server = http.server.ThreadingHTTPServer((host, int(port)), Storage)
server.file = os.path.join(args.dir, "storage.db")
with contextlib.closing(sqlite3.connect(server.file, timeout=60)) as db:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE IF NOT EXISTS kv (key BLOB PRIMARY KEY, value BLOB)")
    db.execute("CREATE TABLE IF NOT EXISTS marks (scope TEXT PRIMARY KEY, mark INTEGER)")
server.serve_forever()
