// A client with node redlock, on one node or several. The TTL is the lock's duration, and nothing renews it.
import Redlock from "redlock";

import { run } from "./agent.mjs";
import { Locks } from "./redlocks.mjs";

export class Library extends Locks {
  constructor(settings) {
    settings.of({ redlock: null });
    super(settings, Redlock);
  }
}

run(Library, import.meta.url);
