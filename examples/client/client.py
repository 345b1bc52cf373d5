"""A lock client on Redis, in Python 3 with its standard library: the client of a scenario by
command: [python3, examples/client/client.py], with service redis and by: fenced. With service
custom it is a client of examples/lockservice/server.py.

It obeys lock, unlock, read, write, delete, begin write, begin delete and finish, and answers
all else by an error. docs/agent.md in fencelab describes the protocol.
"""
import http.client, json, re, secrets, signal, socket, sys, threading, time, urllib.parse

TAKE = """if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('INCR', KEYS[2])"""
FREE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])"
METHODS = {"read": "GET", "write": "PUT", "delete": "DELETE"}
# What this client does, where a scenario could choose something else.
FIXED = {"mode": "exclusive", "by": "fenced", "scope": "lock", "reads": "fenced", "numbered": "false",
         "delay": "0s", "look": "begin", "unlock": "compare", "renew": "none", "wait": "0", "token": "granted"}
REASONS = {400: "invalid", 412: "stale", 422: "ahead", 428: "missing"}


class Wrong(Exception):
    """A command that cannot be obeyed; nothing was done."""


def arguments(words):
    """The arguments by name; those that nobody here knows do no harm."""
    found, name = {}, ""
    for word in words:
        if word.startswith("--"):
            name, _, word = word[2:].partition("=")
        found[name] = word
    return found


def seconds(text):
    units = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}
    return sum(float(n) * units[unit] for n, unit in re.findall(r"([0-9.]+)(h|ms|m|s)", text))


ARGS = arguments(sys.argv[1:])
NAME, TTL, TIMEOUT = ARGS["name"], seconds(ARGS["ttl"]), seconds(ARGS["timeout"])
HELD = {}  # lock -> its last grant; the latest grant comes last
BEGUN = []  # what finish will do
GOES = threading.Event()  # it does not stand before a write
SAYING = threading.Lock()
asked, last = int(ARGS["asked-before"]), 0


def say(kind, **fields):
    """Says an event. A field that is empty is left out."""
    global last
    with SAYING:
        last = max(last, time.time_ns())
        event = {"at": last, "lane": NAME, "kind": kind, "client": NAME}
        event.update((name, value) for name, value in fields.items() if value)
        print(json.dumps(event, ensure_ascii=False), flush=True)


def redis(*words):
    """Asks Redis once, over a connection of its own."""
    host, port = ARGS["endpoints"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), TIMEOUT) as conn:
        words = [str(word).encode() for word in words]
        conn.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        answer = conn.makefile("rb")
        line = answer.readline()
        if not line.endswith(b"\r\n") or line.startswith(b"-"):
            raise OSError("Redis says %r" % line)
        if line.startswith(b"$"):
            return None if line == b"$-1\r\n" else answer.read(int(line[1:]))
        return int(line[1:]) if line.startswith(b":") else line


def own(*words):
    """Asks the lock service of examples/lockservice once, over a connection of its own."""
    host, port = ARGS["endpoints"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), TIMEOUT) as conn:
        conn.sendall((" ".join(words) + "\n").encode())
        line = conn.makefile().readline()
        if not line.endswith("\n") or line == "what?\n":
            raise OSError("the lock service says %r" % line)
        return line.split()


# How the lock services are asked: for a sign of life, for the token of a grant or nothing, and
# whether a tenure was let go of that was not over.
SERVICES = {
    "redis": (lambda: redis("PING"),
              lambda lock, owner: redis("EVAL", TAKE, 2, lock, "fencelab_token:{%s}" % lock, owner, int(TTL * 1000)),
              lambda lock, owner: redis("EVAL", FREE, 1, lock, owner)),
    "custom": (lambda: own("ping"),
               lambda lock, owner: (own("lock", lock, owner, str(int(TTL * 1000))) + [None])[1],
               lambda lock, owner: own("unlock", lock, owner) == ["released"]),
}


class Tenure:
    """A grant of a lock, until the end of its lease by this client's clock."""

    def __init__(self, lock, owner, token, until):
        self.lock, self.owner, self.token, self.until, self.released = lock, owner, token, until, False
        end = threading.Timer(until - time.monotonic(), self.tell)
        end.daemon = True
        end.start()

    def lost(self):
        return time.monotonic() >= self.until

    def tell(self):
        GOES.wait()
        if not self.released:
            say("lost", scope=self.lock, tenure=self.owner, token=str(self.token))


def about(lock):
    t = HELD.get(lock)
    return {"scope": lock, "tenure": t.owner, "token": str(t.token)} if t else {"scope": lock}


def under(text):
    """Takes "under NAME" from the end; without it the lock is the last one."""
    found = re.fullmatch(r"(.*) under (\S+)", text)
    return found.groups() if found else (text, (list(HELD) or [ARGS["lock"]])[-1])


def lock(text):
    found = re.fullmatch(r"(?!within )(\S+)?(?: ?within (\S+))?|within (\S+)", text)
    if not found:
        raise Wrong("lock %s: want lock [NAME] [within TIME]" % text)
    name, within = found[1] or ARGS["lock"], found[2] or found[3]
    e = {"op": "lock", "scope": name}
    say("invoke", **e)
    if name in HELD and not HELD[name].lost():
        return say("fail", **e, reason="held", text="it holds the lock already")
    owner, end = secrets.token_hex(8), time.monotonic() + (seconds(within) if within else TIMEOUT)
    while True:
        now = time.monotonic()
        try:
            token = take(name, owner)
        except ConnectionRefusedError as err:
            return say("fail", **e, text=str(err))
        except OSError as err:  # the lock service may have done it
            return say("unknown", **e, text=str(err))
        if token:
            break
        if time.monotonic() > end:
            return say("fail", **e, text="not granted in time")
        time.sleep(0.1)
    HELD.pop(name, None)
    HELD[name] = Tenure(name, owner, token, now + TTL)
    say("ok", **(e | about(name)))


def unlock(text):
    name = text or under("")[1]
    e = {"op": "unlock"} | about(name)
    say("invoke", **e)
    t = HELD.pop(name, None)
    if not t:
        return say("fail", **e, text="it holds nothing")
    t.released = not t.lost()
    try:
        mine = free(name, t.owner)
    except OSError as err:
        return say("unknown", **e, text=str(err))
    say("ok", **e) if mine else say("fail", **e, text="that tenure is over")


def request(op, text):
    """The request to the storage that a command is about: it shows the token of the last grant."""
    text, name = under(text)
    key, equals, value = text.partition("=") if op == "write" else (text, "=", "")
    if not key.strip() or not equals:
        raise Wrong("%s %s: want a KEY%s" % (op, text, "=VALUE" if op == "write" else ""))
    return {"op": op, "key": key, "value": value} | about(name)


def ask(e):
    global asked
    asked += 1
    e = e | {"request": "%s-%d" % (NAME, asked)}
    say("invoke", **e)
    headers = {"X-Request-Id": e["request"], "Fencing-Scope": e["scope"].encode()}
    if "token" in e:
        headers["Fencing-Token"] = e["token"]
    conn = http.client.HTTPConnection(urllib.parse.urlsplit(ARGS["storage"]).netloc, timeout=TIMEOUT)
    try:
        conn.request(METHODS[e["op"]], "/v1/kv/" + urllib.parse.quote(e["key"], safe=""), e.get("value", "").encode(), headers)
        answer = conn.getresponse()
        body, status = answer.read().decode(), answer.status
    except ConnectionRefusedError as err:  # nothing was sent
        return say("fail", **e, text=str(err))
    except (OSError, http.client.HTTPException) as err:
        return say("unknown", **e, text=str(err) or type(err).__name__)
    if e["op"] == "read" and status in (200, 404):
        return say("ok", **(e | ({"value": body} if status == 200 else {"missing": True})))
    if 200 <= status < 300:
        return say("ok", **e)
    if status >= 500:
        return say("unknown", **e, text="the storage answers %d" % status)
    why = json.loads(body) if answer.getheader("Content-Type") == "application/problem+json" else {}
    say("fail", **e, reason=REASONS.get(status), mark=why.get("mark"), text="the storage answers %d" % status)


def begin(text):
    op, _, rest = text.partition(" ")
    if op not in ("write", "delete"):
        raise Wrong("begin %s: want begin write or begin delete" % text)
    e = request(op, rest)
    if e["scope"] in HELD and HELD[e["scope"]].lost():  # it looks at its own clock
        say("invoke", **e)
        return say("fail", **e, reason="lost", text="its lease is over")
    GOES.clear()
    BEGUN.append(e)
    say("note", **(e | {"value": ""}), text="stands before the " + op)


def obey(line):
    verb, _, text = line.partition(" ")
    if BEGUN and line != "finish":
        raise Wrong("%s: something was begun, finish it first" % verb)
    if verb == "finish" and not BEGUN:
        raise Wrong("finish: nothing was begun")
    if verb == "finish":
        ask(BEGUN.pop())
        GOES.set()
    elif verb in METHODS:
        ask(request(verb, text))
    elif verb in ("lock", "unlock", "begin"):
        {"lock": lock, "unlock": unlock, "begin": begin}[verb](text)
    else:
        raise Wrong("unknown command %s" % verb)


if ARGS["service"] not in SERVICES:
    print("this client has no --service %s, want one of %s" % (ARGS["service"], ", ".join(SERVICES)), file=sys.stderr)
    sys.exit(2)
reach, take, free = SERVICES[ARGS["service"]]
for name, value in FIXED.items():
    if ARGS.get(name, value) != value:
        print("this client has --%s %s alone, not %s" % (name, value, ARGS[name]), file=sys.stderr)
        sys.exit(2)
GOES.set()
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
try:
    reach()
    socket.create_connection(urllib.parse.urlsplit(ARGS["storage"]).netloc.rsplit(":", 1), TIMEOUT).close()
except OSError as err:
    print("cannot reach the lock service or the storage: %s" % err, file=sys.stderr)
    sys.exit(1)
say("note", key="protocol", value="1", text="ready")
try:
    for line in map(lambda line: line.rstrip("\r\n"), sys.stdin):
        try:
            obey(line) if line else None
        except Wrong as wrong:
            say("error", text=str(wrong))
finally:
    BEGUN.clear()
    GOES.set()
    for name in reversed([name for name, t in HELD.items() if not t.lost()]):
        unlock(name)
