"""Connects with a Redis. The environment has its URL, if it was there already: the arguments of a process are for all
to see. Where it is, is an argument."""
import os, urllib.parse

import redis


def connect(settings):
    """A client for each node."""
    url = urllib.parse.urlsplit(os.environ.get("FENCELAB_REDIS_URL", ""))
    secure = {"ssl": True, "ssl_cert_reqs": "none" if url.query == "skip_verify=true" else "required"} if url.scheme == "rediss" else {}
    return [redis.Redis(host, port, username=url.username or None, password=url.password or None, **secure,
                        socket_timeout=settings.timeout, socket_connect_timeout=settings.timeout) for host, port in settings.addresses()]


def key_of(lock):
    """What a library puts "lock:" before: gcsim's account reads the keys "lock:{NAME}"."""
    return "{" + lock.replace("%", "%25").replace("{", "%7B").replace("}", "%7D") + "}"
