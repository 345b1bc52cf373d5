"""A lock service of one's own, in Python 3 with its standard library: the lock service of a
scenario by world: {custom: {command: 'python3 examples/lockservice/server.py --listen {addr} --dir {dir}'}}

It is asked by lines over TCP:

    ping                          pong
    lock NAME OWNER MILLISECONDS  granted TOKEN, or held
    unlock NAME OWNER             released, or gone

An owner is a name that is new for each grant. Tokens are counted. With --dir the count and the
leases are on the disk before a client is answered. Without it a restart begins anew, and then a
token is given out twice.

On standard output it says what begins and ends, before the client is answered:
docs/your-lock-service.md in fencelab describes these lines.
"""
import argparse, json, os, socketserver, threading, time

flags = argparse.ArgumentParser()
flags.add_argument("--listen", required=True)
flags.add_argument("--dir")
ARGS = flags.parse_args()
MUTEX = threading.RLock()
STATE = {"token": 0, "held": {}}  # held: lock -> [owner, when its lease ends]


def say(kind, lock, owner, **fields):
    event = {"at": time.time_ns(), "kind": kind, "scope": lock, "tenure": owner, **fields}
    print(json.dumps(event), flush=True)


def keep():
    """Has the state on the disk."""
    if not ARGS.dir:
        return
    path = os.path.join(ARGS.dir, "state")
    with open(path + ".new", "w") as file:
        json.dump(STATE, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def end(lock, owner, cause):
    """Ends a tenure, if it is not over."""
    with MUTEX:
        if STATE["held"].get(lock, [None])[0] != owner:
            return False
        del STATE["held"][lock]
        keep()
        say("ended", lock, owner, cause=cause)
        return True


def expire(lock, owner, until):
    timer = threading.Timer(max(0, until - time.time()), end, [lock, owner, "expired"])
    timer.daemon = True
    timer.start()


def grant(lock, owner, ttl):
    """A token, or None where the lock is another's."""
    with MUTEX:
        if lock in STATE["held"]:
            return None
        STATE["token"] += 1
        STATE["held"][lock] = [owner, time.time() + ttl]
        keep()
        say("granted", lock, owner, token=str(STATE["token"]))
        expire(lock, *STATE["held"][lock])
        return STATE["token"]


class Client(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write((self.answer(line.decode().split()) + "\n").encode())

    def answer(self, words):
        match words:
            case ["ping"]:
                return "pong"
            case ["lock", lock, owner, ttl]:
                token = grant(lock, owner, int(ttl) / 1000)
                return "granted %d" % token if token else "held"
            case ["unlock", lock, owner]:
                return "released" if end(lock, owner, "released") else "gone"
        return "what?"


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads = True, True


if ARGS.dir and os.path.exists(os.path.join(ARGS.dir, "state")):
    with open(os.path.join(ARGS.dir, "state")) as file:
        STATE = json.load(file)
    for lock, (owner, until) in list(STATE["held"].items()):
        expire(lock, owner, until)
host, port = ARGS.listen.rsplit(":", 1)
Server((host, int(port)), Client).serve_forever()
