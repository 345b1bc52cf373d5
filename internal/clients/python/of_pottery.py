"""A client with the Redlock of pottery, on one node or several. The TTL is its auto_release_time."""
import pottery

import agent
from redis_url import connect, key_of


class Redlock(pottery.Redlock):
    _KEY_PREFIX = "lock"  # gcsim's account reads the keys "lock:{NAME}"


class Library:
    def __init__(self, settings):
        settings.of({"pottery": None})
        self.ttl, self.masters = settings.ttl, connect(settings)

    def reach(self):
        for master in self.masters:
            master.ping()

    def close(self):
        for master in self.masters:
            master.close()

    def lock(self, name, wait):
        lock = Redlock(key=key_of(name), masters=set(self.masters), auto_release_time=self.ttl)
        granted = lock.acquire(timeout=wait.seconds) if wait.seconds else lock.acquire(blocking=False)
        return Tenure(lock) if granted else None


class Tenure(agent.Tenure):
    def __init__(self, lock):
        self.lock, self.name = lock, lock._uuid

    def held(self):
        return self.lock.locked() > 0

    def unlock(self):
        try:
            self.lock.release()
        except pottery.ReleaseUnlockedLock as err:
            raise agent.Over.by(err) from None


if __name__ == "__main__":
    agent.run(Library)
