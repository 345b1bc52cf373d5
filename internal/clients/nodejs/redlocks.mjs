// What the versions of node redlock and its fork have in common.
import { Over } from "./agent.mjs";
import { connect, keyOf } from "./redis_url.mjs";

export class Locks {
  constructor(settings, redlock) {
    this.ttl = Math.round(settings.ttl);
    this.nodes = connect(settings);
    this.redlock = new redlock(this.nodes, { retryCount: 0 });
    this.redlock.on("error", () => {}); // a call that fails says so, too
  }

  reach() { return Promise.all(this.nodes.map((node) => node.ping())); }

  close() { for (const node of this.nodes) node.disconnect(); }

  /** Waits by attempts of its own, as the library cannot be told to give up. */
  lock(name, wait) {
    const key = keyOf(name);
    return wait.again(async () => {
      try {
        return new Tenure(await this.acquire(key), this, key);
      } catch (err) {
        if (!await this.refused(err)) throw err;
        return null;
      }
    });
  }

  acquire(key) { return this.redlock.acquire([key], this.ttl); }

  /** Reports whether each node has answered, and the lock is another's. */
  async refused(err) {
    const stats = await Promise.all(err.attempts ?? []);
    return stats.length > 0 && stats.every(({ votesAgainst }) => [...votesAgainst.values()].every((err) => err.name === "ResourceLockedError"));
  }
}

class Tenure {
  constructor(lock, of, key) { Object.assign(this, { lock, of, key, name: lock.value }); }

  async held() {
    const owners = await Promise.all(this.of.nodes.map((node) => node.get(this.key)));
    return owners.filter((owner) => owner === this.name).length > owners.length / 2;
  }

  acquired() { return this.lock.expiration > Date.now(); }

  async unlock() {
    try {
      await this.of.redlock.release(this.lock);
    } catch (err) {
      throw await this.of.refused(err) ? Over.by(err) : err;
    }
  }
}
