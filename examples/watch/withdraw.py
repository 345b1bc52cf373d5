"""A withdrawal under a lock in Redis, by SQL: a program that knows nothing of gcsim.

    apt-get install postgresql python3-psycopg2
    gcsim watch --service redis --lock /account --to postgres -- /usr/bin/python3 examples/watch/withdraw.py

It looks at the balance, and writes the new one. With --fenced the UPDATE compares the token.
"""
import os, secrets, socket, sys, time

import psycopg2

TAKE = """if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 1000) then return false end
return redis.call('INCR', KEYS[2])"""


def redis(*words):
    host, port = os.environ["FENCELAB_REDIS"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as conn:
        words = [str(word).encode() for word in words]
        conn.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        line = conn.makefile("rb").readline()
        return int(line[1:]) if line.startswith(b":") else None


db = psycopg2.connect(os.environ["FENCELAB_STORAGE"])
db.autocommit = True
sql = db.cursor()
sql.execute("""CREATE TABLE IF NOT EXISTS account (id int PRIMARY KEY, balance int, token bigint);
    INSERT INTO account VALUES (1, 100, 0) ON CONFLICT DO NOTHING""")

lock = os.environ["FENCELAB_LOCK"]
while not (token := redis("EVAL", TAKE, 2, lock, "fencelab_token:{%s}" % lock, secrets.token_hex(8))):
    time.sleep(0.1)
sql.execute("SELECT balance FROM account WHERE id = 1")
balance = sql.fetchone()[0]
if "--fenced" in sys.argv:
    sql.execute("UPDATE account SET balance = %s, token = %s WHERE id = 1 AND token <= %s", (balance - 10, token, token))
else:
    sql.execute("UPDATE account SET balance = %s WHERE id = 1", (balance - 10,))
if sql.rowcount == 0:
    sys.exit("a later holder has written: nothing is withdrawn")
print("the balance was", balance)
