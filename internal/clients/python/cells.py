"""Tells the stories of docs/libraries.md's table with a library, and says the facts, a line each: a name, a tab, a fact.
Each client is a library's own connection, and both are in this process. The arguments: the library's file without its
end, and what agent.py takes."""
import importlib, sys, time

import agent

library, settings = importlib.import_module(sys.argv[1]), agent.Settings(sys.argv[2])


def client():
    made = library.Library(settings)
    made.reach()
    return made


def say(name, fact):
    print("%s\t%s" % (name, fact), flush=True)


def answers(do):
    """What somebody is told who does something."""
    try:
        said = do()
    except agent.Over as over:
        return "raises `%s`" % str(over).partition(":")[0] if ": " in str(over) else str(over).replace("release returns False", "returns `False`")
    except agent.Refused:
        return "no"
    except Exception as err:
        return "raises `%s`" % type(err).__name__
    return "returns" if said is None else str(said)


def take(of, name, seconds=0):
    return of.lock(name, agent.Wait(seconds))


def attempt(of, name, seconds=0):
    return answers(lambda: "granted" if take(of, name, seconds) else "refused")


def succeed(held, of, other, name):
    """Lets the lease run out, or ends the session, and has the other one take the lock."""
    if hasattr(of, "over"):
        again = type(of.client)(settings.text("endpoints"), client_id=of.client.client_id)
        again.start()
        again.stop()
        await_true(lambda: not held.held())
    return await_true(lambda: take(other, name))


def await_true(ask):
    until = time.monotonic() + 30
    while True:
        try:
            said = ask()
        except Exception:  # with which a library refuses a lock
            said = None
        if said:
            return said
        assert time.monotonic() < until, "it is never so"
        time.sleep(0.01)


one, two = client(), client()
held = take(one, "/taken")
say("token", "none; the program can read the number of the transaction that made its key" if held.token else "none")
say("taken while another client has it", attempt(two, "/taken"))
say("taken again in the same thread", attempt(one, "/taken"))
say("a wait for 1 s", attempt(two, "/taken", 1))
held.unlock()
next = take(two, "/taken")
say("after the unlock", "the next one has it" if next else "it is taken")
next.unlock()

held = take(one, "/renewed")
time.sleep(settings.ttl + 2)
say("held for longer than the TTL", "it renews the lock" if held.held() else "the lock is over")

held = take(one, "/late")
succeed(held, one, two, "/late").unlock()
say("after a loss the library itself believes", {"no": "it keeps no state", "True": "that it holds the lock"}.get(told := answers(held.acquired), told))
say("late unlock, nobody has the lock", answers(held.unlock))

one = client()
held = take(one, "/next")
next = succeed(held, one, two, "/next")
say("late unlock, another one has the lock", answers(held.unlock) + ("" if next.held() else ", and frees its lock"))
