"""A fenced storage: python3 storage.py --listen 127.0.0.1:8080 --dir data

Value and mark are in one SQLite file. One transaction checks the token, raises the mark
and changes the value. So all laws hold, also with two of these processes on one file.
"""
import argparse, http.server, os, re, sqlite3, threading, urllib.parse

PATH = "/v1/kv/"
TURN = threading.Lock()  # of the threads of this process


class Storage(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        if "Content-Length" not in self.headers:  # http.server reads no chunks
            return self.answer(411, b"want Content-Length")
        self.fenced("INSERT OR REPLACE INTO kv VALUES (:key, :value)", self.body())

    def do_DELETE(self):
        self.fenced("DELETE FROM kv WHERE key = :key")

    def do_GET(self):
        self.fenced("SELECT value FROM kv WHERE key = :key")

    def body(self):  # all of it, before anything is checked
        return self.rfile.read(int(self.headers["Content-Length"]))

    def fenced(self, sql, value=b""):
        if not self.path.startswith(PATH) or "?" in self.path:
            return self.answer(404, b"no such path")
        key = urllib.parse.unquote_to_bytes(self.path.removeprefix(PATH))
        scope = self.headers.get("Fencing-Scope", key.decode("latin-1"))
        tokens = self.headers.get_all("Fencing-Token")
        token = tokens and ", ".join(tokens)  # two are no number
        if token is None and not sql.startswith("SELECT"):
            return self.answer(428, b"a change needs a Fencing-Token")
        if token is not None and not (re.fullmatch("[1-9][0-9]{0,18}", token) and int(token) < 2**63):
            return self.answer(400, b"Fencing-Token: want a decimal number from 1 to 2^63-1")
        with TURN:
            DB.execute("BEGIN IMMEDIATE")  # no other process changes anything until COMMIT
            try:
                status, answer = self.admitted(sql, key, value, scope, token)
            finally:
                DB.execute("COMMIT")  # a refused request has changed nothing
        self.answer(status, answer)

    def admitted(self, sql, key, value, scope, token):
        if token is not None:
            mark = (DB.execute("SELECT mark FROM marks WHERE scope = ?", [scope]).fetchone() or [0])[0]
            if int(token) < mark:
                return 412, b"stale: the mark is %d" % mark
            DB.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", [scope, int(token)])
        found = DB.execute(sql, {"key": key, "value": value}).fetchone()
        if not sql.startswith("SELECT"):
            return 204, b""
        return (200, found[0]) if found else (404, b"no such key")

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
DB = sqlite3.connect(os.path.join(args.dir, "storage.db"), timeout=60, isolation_level=None, check_same_thread=False)
DB.execute("PRAGMA journal_mode = WAL")
DB.execute("CREATE TABLE IF NOT EXISTS kv (key BLOB PRIMARY KEY, value BLOB)")
DB.execute("CREATE TABLE IF NOT EXISTS marks (scope TEXT PRIMARY KEY, mark INTEGER)")
host, port = args.listen.rsplit(":", 1)
http.server.ThreadingHTTPServer((host, int(port)), Storage).serve_forever()
