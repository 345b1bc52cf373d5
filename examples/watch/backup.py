"""A backup under a lock in Redis: a program that knows nothing of gcsim.

    gcsim watch --service redis --set by=fenced --lock /backup -- python3 examples/watch/backup.py

It shows the token of its lock to the storage; with --careless it does not. Right before it
writes it looks whether its lease goes on, which does not help.
"""
import os, secrets, socket, sys, time, urllib.request

TTL = 1.0  # seconds
TAKE = """if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('INCR', KEYS[2])"""


def redis(*words):
    host, port = os.environ["FENCELAB_REDIS"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as conn:
        words = [str(word).encode() for word in words]
        conn.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        line = conn.makefile("rb").readline()
        return int(line[1:]) if line.startswith(b":") else None


lock = os.environ["FENCELAB_LOCK"]
while True:
    asked = time.monotonic()
    token = redis("EVAL", TAKE, 2, lock, "fencelab_token:{%s}" % lock, secrets.token_hex(8), int(TTL * 1000))
    if token:
        break
    time.sleep(0.1)
print("takes the backup, with token", token, flush=True)
backup = "the backup of %d" % token
if time.monotonic() - asked > TTL:
    sys.exit("the lease is over: no backup")
request = urllib.request.Request(os.environ["FENCELAB_STORAGE"] + "/v1/kv/backup", backup.encode(), method="PUT")
if "--careless" not in sys.argv:
    request.add_header("Fencing-Scope", lock)
    request.add_header("Fencing-Token", str(token))
try:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        print("the storage answers", answer.status)
except urllib.error.HTTPError as refused:
    sys.exit("the storage refuses it: %s" % refused)
