"""A client with the Lock of redis-py. The TTL is its timeout."""
import threading

import redis.exceptions

import agent
from redis_url import connect


class Library:
    def __init__(self, settings):
        every = settings.ttl / 3
        self.timeout, self.renews = settings.of({
            "redis-py": (settings.ttl, None), "redis-py-reacquired": (settings.ttl, every), "redis-py-zero": (0, every)})
        self.client, = connect(settings)

    def reach(self):
        self.client.ping()

    def close(self):
        self.client.close()

    def lock(self, name, wait):
        # Not thread_local: the thread that renews has the token, too.
        lock = self.client.lock(name, timeout=self.timeout, thread_local=not self.renews)
        if lock.acquire(blocking=wait.seconds > 0, blocking_timeout=wait.seconds or None):
            return Tenure(lock, self.renews)


class Tenure(agent.Tenure):
    def __init__(self, lock, renews):
        self.lock, self.name, self.over = lock, lock.local.token.decode(), threading.Event()
        if renews:
            agent.start(self.renew, renews)

    def renew(self, every):
        """What a program does that works for longer: the library renews nothing by itself."""
        while not self.over.wait(every):
            try:
                self.lock.reacquire()
            except redis.exceptions.LockError:
                return

    def held(self):
        return self.lock.owned()

    def unlock(self):
        self.over.set()
        try:
            self.lock.release()
        except redis.exceptions.LockError as err:
            raise agent.Over.by(err) from None


if __name__ == "__main__":
    agent.run(Library)
