"""A client with the Lock of etcd3. The TTL is that of its lease, in whole seconds. Nothing renews it: refresh would."""
import math

import etcd3

import agent


class Library:
    def __init__(self, settings):
        settings.of({"etcd3": None})
        (host, port), *_ = settings.addresses()
        self.ttl, self.client = math.ceil(settings.ttl), etcd3.client(host, port, timeout=settings.timeout)

    def reach(self):
        self.client.status()

    def close(self):
        self.client.close()

    def lock(self, name, wait):
        lock = self.client.lock(name, self.ttl)
        lock.key = name + "/etcd3"  # the account reads keys below the lock's name
        return Tenure(lock, self.client) if lock.acquire(wait.seconds) else None


class Tenure(agent.Tenure):
    """Its token is the create revision of the key, which is read once, after the grant."""

    def __init__(self, lock, client):
        self.lock = lock
        _, meta = client.get(lock.key)
        self.token = meta.create_revision
        self.name = "%s@%d" % (lock.key, self.token)

    def held(self):
        return self.lock.is_acquired()

    def unlock(self):
        if not self.lock.release():
            raise agent.Over("release returns False")


if __name__ == "__main__":
    agent.run(Library)
