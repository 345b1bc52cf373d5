// A client with the Mutex of redis-semaphore. The TTL is its lockTimeout.
import { Mutex } from "redis-semaphore";

import { Over, run } from "./agent.mjs";
import { connect, keyOf } from "./redis_url.mjs";

export class Library {
  constructor(settings) {
    const renewed = { refreshInterval: Math.round(settings.ttl * 0.8) }; // as is its default
    this.options = settings.of({ "redis-semaphore": renewed, "redis-semaphore-lease": { refreshInterval: 0 } });
    this.ttl = Math.round(settings.ttl);
    [this.client] = connect(settings);
  }

  reach() { return this.client.ping(); }

  close() { this.client.disconnect(); }

  async lock(name, wait) {
    const bounds = wait.ms ? { acquireTimeout: wait.ms, retryInterval: 100 } : { acquireAttemptsLimit: 1 };
    let lost = false;
    const mutex = new Mutex(this.client, name, { lockTimeout: this.ttl, ...bounds, ...this.options, onLockLost: () => { lost = true; } });
    mutex._key = keyOf(name); // gcsim's account reads that key
    return await mutex.tryAcquire(wait.ended.signal) ? new Tenure(mutex, this.client, keyOf(name), () => lost) : null;
  }
}

class Tenure {
  constructor(mutex, client, key, lost) { Object.assign(this, { mutex, client, key, lost, name: mutex.identifier }); }

  async held() { return !this.lost() && await this.client.get(this.key) === this.name; }

  acquired() { return this.mutex.isAcquired; }

  told() { return this.lost(); }

  /** The library does not say whether there was something to release: its holder is asked before. */
  async unlock() {
    const held = await this.held();
    await this.mutex.release();
    if (!held) throw new Over("the lock was another's, or nobody's");
  }
}

run(Library, import.meta.url);
