// A client with the Lock of etcd3. The TTL is that of its lease, in whole seconds, which the library renews.
import { Etcd3, EtcdLockFailedError } from "etcd3";

import { Over, run } from "./agent.mjs";

export class Library {
  constructor(settings) {
    settings.of({ etcd3: null });
    this.ttl = Math.ceil(settings.ttl / 1000);
    this.client = new Etcd3({ hosts: settings.addresses(), dialTimeout: settings.timeout });
  }

  reach() { return this.client.maintenance.status(); }

  close() { this.client.close(); }

  lock(name, wait) {
    const key = name + "/etcd3"; // the account reads keys below the lock's name
    return wait.again(async () => {
      const lock = this.client.lock(key).ttl(this.ttl);
      try {
        await lock.acquire();
      } catch (err) {
        if (err instanceof EtcdLockFailedError) return null;
        throw err;
      }
      const { kvs: [kv] } = await this.client.get(key).exec();
      return new Tenure(lock, this.client, key, kv.create_revision);
    });
  }
}

/** Its token is the create revision of the key, which is read once, after the grant. */
class Tenure {
  constructor(lock, client, key, token) {
    Object.assign(this, { lock, client, key, token, name: `${key}@${token}`, lost: false });
    lock.lease.on("lost", () => { this.lost = true; });
  }

  async held() {
    const { kvs: [kv] } = await this.client.get(this.key).exec();
    return kv?.create_revision === this.token;
  }

  told() { return this.lost; }

  async unlock() {
    try {
      await this.lock.release();
    } catch (err) {
      throw /lease not found/.test(err.message) ? Over.by(err) : err;
    }
  }
}

run(Library, import.meta.url);
