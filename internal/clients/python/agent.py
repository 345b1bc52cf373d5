"""The half of a client that is in Python: it does with a library's locks what a line of its input asks, and answers by
a line. What a client does in a scenario is known to the other half alone, which is gcsim's own client: see
internal/clients/peer. A library is a file beside this one, with a class Library, which it gives to run.
"""
import concurrent.futures, http.client, os, signal, sys, threading, time, urllib.parse

NANO = 1e9
# What the libraries do, where a scenario could choose something else.
KNOWN = {"look": ("", "begin", "nothing", "session", "owner", "acquired"), "mode": ("", "exclusive"),
         "token": ("", "granted", "czxid", "revision", "header"), "unlock": ("", "compare"), "renew": ("", "none"), "wait": ("", "0")}


class Over(Exception):
    """The tenure was over before it was to be released."""

    @classmethod
    def by(cls, err):
        return cls("%s: %s" % (type(err).__name__, err))


class Refused(Exception):
    """Something was not done, and will not be."""


class Unknown(ValueError):
    """A setting for which there is no code."""


class Settings:
    """What is known of the client: its settings by name."""

    def __init__(self, line):
        self.fields = urllib.parse.parse_qs(line, keep_blank_values=True, strict_parsing=bool(line))
        self.by, self.ttl, self.timeout = self.text("by"), self.seconds("ttl"), self.seconds("timeout")
        for name, values in KNOWN.items():
            if self.text(name) not in values:
                raise Unknown("--%s is %s, and this client knows %s" % (name, self.text(name), ", ".join(values)))

    def text(self, name):
        return self.fields.get(name, [""])[0]

    def seconds(self, name):
        return int(self.text(name) or 0) / NANO

    def of(self, recipes):
        """What belongs to the recipe."""
        if self.by not in recipes:
            raise Unknown("--by is %s, and this client has %s" % (self.by, ", ".join(recipes)))
        return recipes[self.by]

    def addresses(self):
        return [(host, int(port)) for host, _, port in (at.rpartition(":") for at in self.text("endpoints").split(","))]


class Wait:
    """An attempt to take a lock, for so many seconds; 0: it does not wait. Its interrupt, if a library gives it one,
    ends the wait when nobody wants the lock any more."""

    def __init__(self, seconds):
        self.seconds, self.interrupt, self.cancelled = seconds, lambda: None, False


class Tenure:
    """A lock that was granted. A library's has a name, as the lock service's own account calls it, held and unlock."""
    token = 0  # that came with the grant; 0: none did
    reenters = False  # the lock is to be taken twice

    def held(self):
        """Asks the library, or by it the lock service, whether the tenure goes on."""
        raise NotImplementedError

    def acquired(self):
        """What the library itself believes, without a question to the lock service."""
        raise Refused("this library has no such question")

    def told(self):
        """Reports whether the library has told its holder, without a question, that the lock is or may be lost."""
        raise Refused("this library tells nobody of a loss")

    def unlock(self):
        """Releases it. Over says that it was over before."""
        raise NotImplementedError

    def again(self):
        """Takes it once more while it is held, for an inner part of the work."""
        raise Refused("this library's lock is not to be taken twice")


class Held:
    """A tenure, from the first attempt to take the lock to its release, and the thread on which it is: libraries may
    tell holders apart by threads."""

    def __init__(self):
        self.thread = concurrent.futures.ThreadPoolExecutor(1)
        self.grants, self.released = [], threading.Event()  # the latest grant comes last

    def granted(self, tenure):
        self.grants.append(tenure)
        return {"name": tenure.name, "token": tenure.token, "reenters": str(tenure.reenters).lower()}

    def unlock(self):
        """Ends the latest grant. It can be tried again, unless it returns or says that the tenure was over."""
        if len(self.grants) == 1:
            self.released.set()
        try:
            self.grants[-1].unlock()
        except Over:
            self.grants.pop()
            raise
        self.grants.pop()

    def loses(self, ttl):
        """Returns when the tenure is over, and reports whether it was lost. A library that tells nobody is asked."""
        seen = time.monotonic()
        while not self.released.wait(ttl / 3):
            asks = time.monotonic()
            try:
                held = self.thread.submit(lambda: self.grants[-1].held()).result(ttl)
                seen = asks
            except Exception:  # it cannot be known
                held = time.monotonic() - seen <= ttl
            if not held:
                return not self.released.is_set()
        return False


class Agent:
    def __init__(self, settings, library):
        self.settings, self.library, self.locks = settings, library, None
        self.held, self.waits, self.saying, self.free = {}, {}, threading.Lock(), set()

    def say(self, **fields):
        with self.saying:
            sys.stdout.write(urllib.parse.urlencode(fields, doseq=True) + "\n")
            sys.stdout.flush()

    def obey(self):
        for line in sys.stdin:
            ask = {name: values if name == "header" else values[0]
                   for name, values in urllib.parse.parse_qs(line.rstrip("\n"), keep_blank_values=True).items()}
            if ask["op"] == "cancel":
                wait = self.waits.get(ask["of"])
                if wait:
                    wait.cancelled = True
                    wait.interrupt()
            elif "tenure" in ask and ask["op"] != "told":  # which does not wait for its turn
                if ask["op"] == "lock":
                    self.waits[ask["id"]] = Wait(int(ask["within"]) / NANO)
                self.held.setdefault(ask["tenure"], Held()).thread.submit(self.answer, ask)
            else:
                self.free = {thread for thread in self.free if thread.is_alive()}
                self.free.add(start(self.answer, ask))
        until = time.monotonic() + self.settings.timeout
        for thread in self.free:
            thread.join(max(0, until - time.monotonic()))
        if self.locks:
            self.locks.close()

    def answer(self, ask):
        op, of, learned = ask["op"], self.held.get(ask.get("tenure")), {}
        end, text = "ok", ""
        try:
            learned = self.act(op, ask, of) or {}
        except Refused as no:
            end, text = "no", str(no)
        except Over as over:
            end, text = "over", str(over)
        except Exception as err:
            end, text = "unknown", "%s: %s" % (type(err).__name__, err)
        wait = self.waits.pop(ask["id"], None)
        if wait and wait.cancelled:
            end = self.give_back(of, end)
        self.say(id=ask["id"], end=end, text=text, **learned)
        if op in ("lock", "unlock") and not of.grants:
            self.held.pop(ask["tenure"], None)
            of.thread.shutdown(wait=False)
        elif op == "lock":
            start(self.watch, ask["tenure"], of)

    @staticmethod
    def give_back(of, end):
        """Releases a lock that came when nobody waited for it any more."""
        try:
            if of.grants:
                of.unlock()
            return "no"
        except Exception:
            return "unknown"

    def watch(self, tenure, of):
        if of.loses(self.settings.ttl):
            self.say(lost=tenure)

    def act(self, op, ask, of):
        if op == "reach":
            return self.reach()
        if op == "lock":
            granted = self.locks.lock(ask["lock"], self.waits[ask["id"]])
            if granted is None:
                raise Refused("another tenure has the lock")
            return of.granted(granted)
        if op == "again":
            return of.granted(of.grants[-1].again())
        if op == "unlock":
            return of.unlock()
        if op == "look":
            last = of.grants[-1]
            return {"yes": str(last.acquired() if ask["look"] == "acquired" else last.held()).lower()}
        if op == "told":
            return {"yes": str(of.grants[-1].told()).lower()}
        if op == "send":
            return send(ask, self.settings.timeout)
        raise Refused("the process in Python does not know " + op)

    def reach(self):
        if self.locks is None:
            try:
                self.locks = self.library(self.settings)
            except Unknown as err:
                os._exit(fail(err, 2))
        self.locks.reach()


def send(ask, timeout):
    """Sends a request to the storage, over a connection of its own."""
    url = urllib.parse.urlsplit(ask["url"])
    conn = http.client.HTTPConnection(url.netloc, timeout=timeout)
    try:
        conn.connect()
    except ConnectionRefusedError as err:  # nothing was sent
        return {"refused": str(err)}
    headers = dict(header.split(": ", 1) for header in ask.get("header", []))
    conn.request(ask["method"], url.path + ("?" + url.query if url.query else ""), ask.get("body", "").encode() or None,
                 {name: value.encode() for name, value in headers.items()})
    got = conn.getresponse()
    return {"status": got.status, "body": got.read().decode(), "header": ["%s: %s" % header for header in got.getheaders()]}


def start(do, *arguments):
    thread = threading.Thread(target=do, args=arguments, daemon=True)
    thread.start()
    return thread


def fail(err, status):
    print(err, file=sys.stderr, flush=True)
    return status


def run(library):
    """Is the main program of a client with the locks of a library. It ends with its input."""
    for signum in (signal.SIGTERM, signal.SIGINT):  # they are for the other half, which releases the locks
        signal.signal(signum, signal.SIG_IGN)
    status = 0
    try:
        Agent(Settings(sys.argv[1]), library).obey()
    except Unknown as err:
        status = fail(err, 2)
    except Exception as err:
        status = fail("%s: %s" % (type(err).__name__, err), 1)
    os._exit(status)  # a library's threads go on for ever
