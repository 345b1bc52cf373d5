"""A client with the Lock of python-redis-lock. The TTL is its expire, in whole seconds."""
import logging, math

import redis_lock

import agent
from redis_url import connect, key_of

logging.getLogger("redis_lock").setLevel(logging.ERROR)  # it warns of each attempt that is refused


class Library:
    def __init__(self, settings):
        self.renews = settings.of({"python-redis-lock": False, "python-redis-lock-renewed": True})
        self.expire = math.ceil(settings.ttl)
        self.client, = connect(settings)

    def reach(self):
        self.client.ping()

    def close(self):
        self.client.close()

    def lock(self, name, wait):
        lock = redis_lock.Lock(self.client, key_of(name), expire=self.expire, auto_renewal=self.renews)
        # A wait that is longer than the lease, and that nothing renews, it refuses (TimeoutTooLarge).
        longest = math.ceil(wait.seconds) if self.renews else min(math.ceil(wait.seconds), self.expire)
        return Tenure(lock) if lock.acquire(blocking=longest > 0, timeout=longest or None) else None


class Tenure(agent.Tenure):
    def __init__(self, lock):
        self.lock, self.name = lock, lock.id

    def held(self):
        return self.lock.get_owner_id() == self.name

    def unlock(self):
        try:
            self.lock.release()
        except redis_lock.NotAcquired as err:
            raise agent.Over.by(err) from None


if __name__ == "__main__":
    agent.run(Library)
