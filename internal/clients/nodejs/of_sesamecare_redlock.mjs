// A client with @sesamecare-oss/redlock, on one node or several. The TTL is the lock's duration, and nothing renews it.
import { Redlock } from "@sesamecare-oss/redlock";

import { run } from "./agent.mjs";
import { Locks } from "./redlocks.mjs";

export class Library extends Locks {
  constructor(settings) {
    settings.of({ "sesamecare-redlock": null });
    super(settings, Redlock);
  }
}

run(Library, import.meta.url);
