"""Makes a history of logs: python3 history.py FILE... > history.jsonl

For logs of your own change what stands before milliseconds. CLOCKS is for a history with the lock service's account:
without it, gcsim check sets the clocks itself, and says how.
"""
import datetime
import json
import re
import sys

SERVICE, LOCK = "redis", "orders"
TTL = 10_000  # for how many milliseconds a lease lasts
CLOCKS = {}  # a host → the milliseconds to add to its times
WORKER = r"^(?P<at>\S+Z) (?P<lane>\S+) "
ZOOKEEPER = r"^(?P<at>.+? [AP]M) UTC session .* "
SLOW = r"^\[(?P<at>\S+)\]\[TRACE\].* id\[orders\]"
COMMITTED = r"(?=(?:.*\n)*?COMMIT \(at (?P<at>[^+]+))"
# What tells of something: a pattern, whose groups are fields; the kind of line in a history; its op. Without a kind it
# tells the time of what comes next. Whoever is queued first has the lock; who is granted a lock of one row has it alone.
TELLS = [
    # a worker's log
    (WORKER + r"wants the lock", "invoke", "lock"),
    (WORKER + r"has the lock (?P<tenure>\w+)", "ok", "lock"),
    (WORKER + r"sets order (?P<key>\d+) to (?P<value>\w+)", "invoke", "write"),
    (WORKER + r"has set order", "ok", "write"),
    (WORKER + r"gives the lock back", "invoke", "unlock"),
    (WORKER + r"has given the lock back", "ok", "unlock"),
    (WORKER + r"lost the lock", "fail", "unlock"),
    # MariaDB, by mariadb-binlog
    (r"^#(?P<at>\d{6} +\S+) server id", None, None),
    (r"^### UPDATE `shop`.`orders`\n(?:###.*\n)*?### SET\n###   @1=(?P<key>\d+)\n###   @2='(?P<value>.*)'", "applied", "write"),
    (r"^### (?:INSERT INTO|UPDATE) `shop`.`fence_locks`\n(?:###.*\n)*?### SET\n###   @1='orders'\n###   @2='(?P<tenure>.*)'", "granted", None),
    # PostgreSQL, by logical decoding
    (r"^table public.orders: UPDATE:.* id\[integer\]:(?P<key>\d+) state\[text\]:'(?P<value>.*?)'" + COMMITTED, "applied", "write"),
    (r"^table public.fence_locks: .*scope\[text\]:'orders' owner\[text\]:'(?P<tenure>\w*)'" + COMMITTED, "granted", None),
    # Redis, by its append-only file
    (r"^#TS:(?P<at>\d+)", None, None),
    (r"^SET\n.*\nlock:orders\n.*\n(?P<tenure>.*)\n.*\nPXAT\n.*\n(?P<until>\d+)", "granted", None),
    (r"^DEL\n.*\nlock:orders", "ended", None),
    # etcd, by its watch
    (r"^PUT orders/(?P<tenure>\S+)", "queued", None),
    (r"^DELETE orders/(?P<tenure>\S+)", "ended", None),
    # ZooKeeper, by its audit log, and by zkTxnLogToolkit.sh
    (r"operation=create\tznode=/orders/(?P<tenure>\w+\d{10})\t", "queued", None),
    (r"operation=(?:delete|ephemeral\w+)\tznode=/orders/(?P<tenure>\w+)\tresult=success", "ended", None),
    (ZOOKEEPER + r"create /orders/(?P<tenure>\w+\d{10}),", "queued", None),
    (ZOOKEEPER + r"(?:delete |closeSession v\{.*?)'/orders/(?P<tenure>\w+)", "ended", None),
    # Elasticsearch and OpenSearch, by the slow log of an index
    (SLOW + r'.*"holder":"(?P<tenure>\w+)"', "granted", None),
]


def milliseconds(text):
    if text.isdigit():
        return int(text) * 1000
    if "-" in text:
        moment = datetime.datetime.fromisoformat(text.rstrip("Z").replace(",", "."))
    else:
        moment = datetime.datetime.strptime(text, "%m/%d/%y, %I:%M:%S %p" if "/" in text else "%y%m%d %H:%M:%S")
    return round(moment.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)


def tell(at, lane, kind, **fields):
    lines.append({"at": at, "lane": lane, "kind": kind, "scope": LOCK, **fields})


lines, told = [], {}  # tenure → its client, and when that was told of it
asks, releases = {}, {}  # request → when it was asked for; tenure → when its client gave the lock back
for name in sys.argv[1:]:
    text = open(name, newline="").read().replace("\r\n", "\n").replace("\u202f", " ")
    found = [(m.start(), m.groupdict(), kind, op) for pattern, kind, op in TELLS for m in re.finditer(pattern, text, re.M)]
    at, tenure, order, holder, queue = 0, None, 0, None, []
    for _, fields, kind, op in sorted(found, key=lambda f: f[0]):
        at = max(at, milliseconds(fields["at"]) if "at" in fields else at, int(fields.get("until", TTL)) - TTL)
        tenure = None if (kind, op) == ("invoke", "lock") else fields.get("tenure", tenure)
        if "key" in fields:  # no two requests set an order to the same
            asked = {"request": fields["key"] + "=" + fields["value"], "key": "order-" + fields["key"], "value": fields["value"]}
        if kind == "applied":
            order += 1
            tell(at, "storage", kind, op=op, index=order, **asked)
        elif kind in ("granted", "queued", "ended"):
            queue = [] if kind == "granted" else [t for t in queue if t != tenure]
            if kind != "ended" and tenure:
                queue.append(tenure)
            if holder and holder not in queue:
                tell(at, SERVICE, "ended", tenure=holder)
                holder = None
            if queue and not holder:
                holder = queue[0]
                tell(at, SERVICE, "granted", tenure=holder)
        elif kind:
            client, now = fields["lane"], at + CLOCKS.get(fields["lane"], 0)
            if (kind, op) == ("ok", "lock"):
                told[tenure] = client, now
            elif (kind, op) == ("invoke", "unlock"):
                releases[tenure] = now + 0.5
            elif (kind, op) == ("fail", "unlock"):
                releases.pop(tenure, None)
            elif (kind, op) == ("invoke", "write"):
                asks[asked["request"]] = now
            tell(now, client, kind, op=op, tenure=tenure, **(asked if op == "write" else {}))

begin, latest = min(line["at"] for line in lines if line["at"]), max(line["at"] for line in lines)
for line in reversed(lines):  # what causes something comes first
    if line["lane"] == SERVICE:
        line["client"], heard = told.get(line["tenure"], (None, line["at"]))
        if line["kind"] == "ended":
            line["cause"] = "released" if line["tenure"] in releases else "expired"
            line["at"] = heard = max(line["at"], releases.get(line["tenure"], 0))
        line["at"] = latest = max(min(line["at"], heard, latest), begin)
    elif line["kind"] == "applied":
        line["at"] = max(line["at"], asks.get(line["request"], begin))
lines.sort(key=lambda line: (line["at"], line["lane"] != SERVICE, line["lane"] == "storage"))
tokens = {client: "none" for client, _ in told.values()}
run = {"version": 2, "service": SERVICE, "scenario": "incident", "title": "Order 17 was shipped, and is cancelled", "tokens": tokens}
lines = [{"at": begin, "lane": "gcsim", "kind": "run", "run": run}, *lines, {"at": lines[-1]["at"], "lane": "gcsim", "kind": "end"}]
for line in lines:
    line["at"] = int((line["at"] - begin) * 1_000_000)
    print(json.dumps({name: value for name, value in line.items() if value is not None}))
