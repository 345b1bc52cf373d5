// A client with version 4 of node redlock, on one node or several. The TTL is the lock's, and nothing renews it.
import Redlock from "redlock-4";

import { run } from "./agent.mjs";
import { Locks } from "./redlocks.mjs";

export class Library extends Locks {
  constructor(settings) {
    settings.of({ "redlock-4": null });
    super(settings, Redlock);
    this.redlock.on("clientError", () => { this.failed = true; });
  }

  acquire(key) {
    this.failed = false;
    return super.acquire(key);
  }

  /** An event, and no error of this version, says that a node has not answered. */
  refused(err) { return err.name === "LockError" && !this.failed; }
}

run(Library, import.meta.url);
