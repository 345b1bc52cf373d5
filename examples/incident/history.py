"""Makes a history of logs: python3 history.py FILE... > history.jsonl

For logs of your own change what stands before milliseconds. CLOCKS is for a history with the lock service's account:
without it, gcsim check sets the clocks itself, and says how.
"""
import datetime
import json
import re
import sys

LOCK, TTL = "orders", 10_000  # the lock's name, and for how many milliseconds a lease lasts
CLOCKS = {}  # a host → the milliseconds to add to its times
WORKER = r"^(?P<at>\S+Z) (?P<lane>\S+) "
# What tells of something: a pattern, whose groups are fields; the kind of line in a history; its op. Without a kind it
# tells the time of what comes next.
TELLS = [
    # a worker's log
    (WORKER + r"wants the lock", "invoke", "lock"),
    (WORKER + r"has the lock (?P<tenure>\w+)", "ok", "lock"),
    (WORKER + r"sets order (?P<key>\d+) to (?P<value>\w+)", "invoke", "write"),
    (WORKER + r"has set order", "ok", "write"),
    (WORKER + r"gives the lock back", "invoke", "unlock"),
    (WORKER + r"has given the lock back", "ok", "unlock"),
    (WORKER + r"lost the lock", "fail", "unlock"),
    # what MariaDB did, by mariadb-binlog --verbose --base64-output=DECODE-ROWS
    (r"^#(?P<at>\d{6} +\S+) server id", None, None),
    (r"^### UPDATE `shop`.`orders`\n(?:###.*\n)*?### SET\n###   @1=(?P<key>\d+)\n###   @2='(?P<value>.*)'", "applied", "write"),
    # what Redis did, by its append-only file
    (r"^#TS:(?P<at>\d+)", None, None),
    (r"^SET\n.*\nlock:orders\n.*\n(?P<tenure>.*)\n.*\nPXAT\n.*\n(?P<until>\d+)", "granted", None),
    (r"^DEL\n.*\nlock:orders", "ended", None),
]


def milliseconds(text):
    if text.isdigit():
        return int(text) * 1000
    if text.endswith("Z"):
        moment = datetime.datetime.fromisoformat(text[:-1])
    else:
        moment = datetime.datetime.strptime(text, "%y%m%d %H:%M:%S")
    return round(moment.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)


lines, has = [], {}  # tenure → the client that has it
for name in sys.argv[1:]:
    text = open(name, newline="").read().replace("\r\n", "\n")
    found = [(m.start(), m.groupdict(), kind, op) for pattern, kind, op in TELLS for m in re.finditer(pattern, text, re.M)]
    at, tenure, asked, order = 0, None, {}, 0
    for _, fields, kind, op in sorted(found, key=lambda f: f[0]):
        at = max(at, milliseconds(fields.pop("at"))) if "at" in fields else at
        tenure = fields.get("tenure", tenure)
        if kind is None:
            continue
        line = {"at": at + CLOCKS.get(fields.get("lane"), 0), "lane": "storage", "kind": kind, "op": op, "scope": LOCK, **fields}
        if kind in ("granted", "ended"):
            at = line["at"] = max(at, int(fields.get("until", TTL)) - TTL)
            line |= {"lane": "redis", "op": None, "tenure": tenure, "until": None}
        elif op == "write":  # no two requests set an order to the same
            asked = {"key": "order-" + fields["key"], "value": fields["value"]} if "key" in fields else asked
            line |= {**asked, "request": "=".join(asked.values())}
        if kind == "applied":
            order += 1
            line["index"] = order
        elif line["lane"] != "redis" and (kind, op) != ("invoke", "lock"):  # who asks for a lock has no tenure yet
            line["tenure"] = tenure
            has[tenure] = line["lane"]
        lines.append(line)

asks = {line["request"]: line["at"] for line in lines if line["kind"] == "invoke" and "request" in line}
for line in lines:
    if line["lane"] == "redis":
        line["client"] = has.get(line["tenure"])
    elif line["lane"] == "storage":  # its times are whole seconds
        line["at"] = max(line["at"], asks.get(line["request"], 0))
lines.sort(key=lambda line: line["at"])
begin, end = lines[0]["at"], lines[-1]["at"]
run = {"version": 2, "service": "redis", "scenario": "incident", "title": "Order 17 was shipped, and is cancelled", "tokens": {client: "none" for client in has.values()}}
for line in [{"at": begin, "lane": "gcsim", "kind": "run", "run": run}, *lines, {"at": end, "lane": "gcsim", "kind": "end"}]:
    line["at"] = (line["at"] - begin) * 1_000_000
    print(json.dumps({name: value for name, value in line.items() if value is not None}))
