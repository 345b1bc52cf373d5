"""Makes a history of the logs of an incident: python3 history.py < incident.csv > history.jsonl"""
import csv
import json
import sys

LOCK = "orders"
# What a line of a log is in a history: its kind, its op.
KINDS = {
    "asks lock": ("invoke", "lock"), "has lock": ("ok", "lock"),
    "asks unlock": ("invoke", "unlock"), "did unlock": ("ok", "unlock"), "lost lock": ("fail", "unlock"),
    "asks update": ("invoke", "write"), "did update": ("ok", "write"),
    "SET NX PX 10000": ("granted", None), "DEL": ("ended", None), "expired": ("ended", None),
    "UPDATE": ("applied", "write"), "SELECT": ("final", None),
}
CAUSES = {"DEL": "released", "expired": "expired"}
CLIENTS = {"a": "worker-a", "b": "worker-b"}  # by the first letter of an id


def tell(at, lane, kind, **fields):
    line = {"at": at * 1_000_000, "lane": lane, "kind": kind, **fields}
    print(json.dumps({name: value for name, value in line.items() if value not in (None, "")}))


tell(0, "gcsim", "run", run={
    "version": 2, "service": "redis", "scenario": "incident", "title": "Order 17 was shipped, and is cancelled",
    "lanes": ["redis", "worker-a", "worker-b", "storage"], "tokens": {"worker-a": "none", "worker-b": "none"},
})
order = 0
for row in csv.DictReader(sys.stdin):
    kind, op = KINDS[row["event"]]
    tenure, is_request, _ = row["id"].partition("-")
    fields = {"op": op, "key": row["key"], "value": row["value"]}
    if kind in ("granted", "ended"):
        fields |= {"tenure": tenure, "client": CLIENTS[tenure[0]], "scope": LOCK, "cause": CAUSES.get(row["event"])}
    elif row["log"] != "database":
        known = not (kind == "invoke" and op == "lock")  # who asks for a lock has no tenure yet
        fields |= {"tenure": tenure if known else None, "scope": LOCK}
    if is_request:
        fields["request"] = row["id"]
    if kind == "applied":
        order += 1
        fields |= {"index": order, "scope": LOCK}
    tell(int(row["ms"]), "storage" if row["log"] == "database" else row["log"], kind, **fields)
tell(int(row["ms"]), "gcsim", "end")
