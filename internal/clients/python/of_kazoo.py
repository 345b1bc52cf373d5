"""A client with the Lock of kazoo. The TTL is the timeout of its session."""
import kazoo.client, kazoo.exceptions, kazoo.protocol.states, kazoo.retry

import agent


class Library:
    def __init__(self, settings):
        settings.of({"kazoo": None})
        self.over = {kazoo.protocol.states.KazooState.LOST}
        if settings.text("suspended") == "obeyed":
            self.over.add(kazoo.protocol.states.KazooState.SUSPENDED)
        forever = kazoo.retry.KazooRetry(max_tries=-1, delay=0.1, max_delay=0.1)
        self.client = kazoo.client.KazooClient(settings.text("endpoints"), settings.ttl, connection_retry=forever, logger=None)
        self.timeout = settings.timeout

    def reach(self):
        self.client.start(self.timeout)
        self.client.exists("/")

    def close(self):
        self.client.stop()

    def lock(self, name, wait):
        lock = self.client.Lock(name)
        wait.interrupt = lock.cancel
        try:
            granted = lock.acquire(blocking=wait.seconds > 0, timeout=wait.seconds or None)
        except (kazoo.exceptions.LockTimeout, kazoo.exceptions.CancelledError):
            return None
        return Tenure(lock, self) if granted else None


class Tenure(agent.Tenure):
    """ZooKeeper knows it by its node. Its token is the number of the transaction that created the node."""

    def __init__(self, lock, of):
        self.lock, self.of, self.name, self.lost = lock, of, lock.node, False
        of.client.add_listener(self.listen)
        self.token = of.client.exists(lock.path + "/" + lock.node).czxid

    def listen(self, state):
        self.lost = self.lost or state in self.of.over
        return self.lost  # which ends the listening

    def held(self):
        return not self.lost

    def told(self):
        return self.lost

    def acquired(self):
        return self.lock.is_acquired

    def unlock(self):
        self.of.client.remove_listener(self.listen)
        self.lock.release()


if __name__ == "__main__":
    agent.run(Library)
