import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A client of scenarios: it obeys commands, a line each, and says events, a line each. docs/agent.md describes the protocol. */
public final class Agent {
    private static final String END = new String("end"); // of the input; told by its identity
    private static final List<String> OWN_LOOKS = List.of("begin", "nothing", "session");
    private static final Pattern UNDER = Pattern.compile("(.*) under (\\S+)");
    private static final Pattern LOCK = Pattern.compile("(?!within )(\\S+)?(?: ?within (\\S+))?|within (\\S+)");

    /** A mistake in a command: nothing was done. */
    private static final class Wrong extends Exception {
        Wrong(String text) {
            super(text);
        }
    }

    /** What can be asked of the storage, and an unlock: it says what it says from its beginning. */
    private record Request(String lock, Event ask, long token) {
        String op() {
            return ask.text("op");
        }
    }

    private final Arguments arguments;
    private final String name;
    private final Duration timeout, ttl;
    private final Locks locks;
    private final Storage storage;
    private final Clock clock;
    private final Heap heap = new Heap();
    private final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    private final BlockingDeque<String> lines = new LinkedBlockingDeque<>();
    private final Map<String, Held> held = new LinkedHashMap<>(); // the latest grant comes last
    private Request begun; // null: it does not stand
    private long asked, last;

    private Agent(Arguments arguments, Clock clock, Locks locks, Storage storage) {
        this.arguments = arguments;
        this.clock = clock;
        this.locks = locks;
        this.storage = storage;
        name = arguments.text("name");
        timeout = arguments.time("timeout");
        ttl = arguments.time("ttl");
        asked = Long.parseLong(arguments.text("asked-before", "0"));
    }

    /** Is the main program of a client, with the locks of a library. */
    public static void run(String[] words, Locks.Library library) {
        int status;
        try {
            Arguments arguments = new Arguments(words);
            Clock clock = new Clock(Arguments.duration(arguments.text("ahead", "0s")));
            Storage storage = new Storage(arguments.text("storage"), arguments.time("timeout"));
            status = new Agent(arguments, clock, reach(arguments, storage, library), storage).live();
        } catch (IllegalArgumentException err) {
            System.err.println(err.getMessage());
            status = 2;
        } catch (Exception err) {
            System.err.println(err);
            status = 1;
        }
        Runtime.getRuntime().halt(status); // a library's threads go on for ever
    }

    /** Tries for --connect-timeout to reach the lock service and the storage. */
    private static Locks reach(Arguments arguments, Storage storage, Locks.Library library) throws Exception {
        Instant end = Instant.now().plus(arguments.time("connect-timeout"));
        while (true) {
            try {
                storage.reach();
                Locks locks = library.open(arguments);
                locks.reach();
                return locks;
            } catch (IllegalArgumentException err) {
                throw err;
            } catch (Exception err) {
                if (Instant.now().isAfter(end)) {
                    throw err;
                }
                Thread.sleep(100);
            }
        }
    }

    /** Obeys until the input ends, or until SIGTERM. */
    private int live() {
        Thread here = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            lines.addFirst(END);
            here.interrupt(); // it may wait for a lock
            try {
                here.join(); // it ends the process
            } catch (InterruptedException none) {
                // nobody interrupts it
            }
        }));
        Thread reader = new Thread(this::read);
        reader.setDaemon(true);
        reader.start();
        say("note", new Event().with("key", "protocol").with("value", "1").with("text", "ready"));
        try {
            for (String line = lines.take(); line != END && !out.checkError(); line = lines.take()) {
                obey(line);
            }
        } catch (InterruptedException end) {
            // it is as good as END
        }
        Thread.interrupted();
        end();
        return out.checkError() ? 1 : 0;
    }

    private void read() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (!line.isEmpty()) {
                    lines.add(line);
                }
            }
        } catch (java.io.IOException err) {
            // it ends the input as well
        }
        lines.add(END);
    }

    /** Leaves nothing behind in the lock service. */
    private void end() {
        stand(null);
        List<String> names = new ArrayList<>(held.keySet());
        for (int i = names.size() - 1; i >= 0; i--) {
            Held h = held.get(names.get(i));
            while (!h.lost && held.containsValue(h)) {
                unlock(h.lock);
            }
        }
        locks.close();
    }

    /** Says an event. It happens now. */
    private synchronized void say(String kind, Event e) {
        Instant now = clock.now();
        last = Math.max(last, now.getEpochSecond() * 1_000_000_000L + now.getNano());
        out.print(e.line(last, name, kind) + "\n");
        out.flush();
        if (arguments.text("words", null) != null) {
            System.err.println(kind + " " + e.text("op") + " " + e.text("scope") + " " + e.text("key") + " " + e.text("text"));
        }
    }

    private void obey(String line) {
        String[] words = line.split(" ", 2);
        String argument = words.length > 1 ? words[1] : "";
        try {
            if (begun != null && !List.of("finish", "gc").contains(line.trim())) {
                throw new Wrong(words[0] + ": something was begun, finish it first");
            }
            switch (words[0]) {
                case "lock", "trylock" -> lock(words[0], argument);
                case "unlock" -> unlock(argument.isBlank() ? lastLock() : argument.trim());
                case "read", "write", "delete" -> {
                    Request r = request(words[0], argument);
                    if (mayGoOn(r, "session")) {
                        perform(r);
                    }
                }
                case "begin" -> begin(argument);
                case "finish" -> finish();
                case "status" -> status();
                case "load" -> load(argument);
                case "gc" -> gc();
                case "help" -> say("note", new Event().with("text", "commands: lock, trylock, unlock, read, write, delete, begin, finish, status, load, gc"));
                default -> throw new Wrong("unknown command " + words[0]);
            }
        } catch (Wrong | IllegalArgumentException | java.io.IOException err) {
            say("error", new Event().with("text", err.getMessage()));
        }
    }

    private String lastLock() {
        String lock = arguments.text("lock");
        for (String later : held.keySet()) {
            lock = later;
        }
        return lock;
    }

    private Event about(String lock) {
        Held h = held.get(lock);
        return h == null ? new Event().with("scope", lock) : h.about();
    }

    private void lock(String op, String argument) throws Wrong {
        Matcher found = LOCK.matcher(argument.trim());
        if (!found.matches()) {
            throw new Wrong(op + " " + argument + ": want " + op + " [NAME] [within TIME]");
        }
        String lock = found.group(1) == null ? arguments.text("lock") : found.group(1);
        String time = found.group(2) == null ? found.group(3) : found.group(2);
        Duration within = op.equals("trylock") ? Duration.ZERO : time == null ? timeout : Arguments.duration(time);
        Event e = new Event().with("op", op).with("scope", lock);
        say("invoke", e);
        Held h = held.get(lock);
        boolean again = h != null && !h.lost;
        if (!again) {
            h = new Held(lock);
        }
        try {
            Held asks = h;
            Locks.Tenure t = h.ask(within.plus(timeout), () -> again ? asks.grant().again() : locks.lock(lock, within));
            if (t == null) {
                e.with("reason", again ? "held" : "");
                e.with("text", again ? "it holds the lock already" : within.isZero() ? "another tenure has the lock" : "not granted in time; it has left the queue");
                say("fail", e);
                return;
            }
            h.grants.addFirst(t);
        } catch (Exception err) { // the lock service may have done it
            say("unknown", e.with("text", words(err)));
            return;
        }
        held.remove(lock);
        held.put(lock, h);
        say("ok", h.about().with("op", op));
        if (!again) {
            Held begins = h;
            Thread watch = new Thread(() -> watch(begins));
            watch.setDaemon(true);
            watch.start();
        }
    }

    /** Tells of the loss of a tenure. Most of these libraries tell nobody of it: the agent asks. */
    private void watch(Held h) {
        try {
            for (long seen = System.nanoTime(); !h.lost; ) {
                if (h.over(ttl.dividedBy(3))) {
                    return;
                }
                long asks = System.nanoTime();
                try {
                    h.lost = !h.ask(ttl, () -> h.grant().held());
                    seen = asks;
                } catch (InterruptedException end) {
                    throw end;
                } catch (Exception err) { // it cannot be known
                    h.lost = System.nanoTime() - seen > ttl.toNanos();
                }
            }
            synchronized (this) {
                while (begun != null) {
                    wait();
                }
                if (!h.released()) {
                    say("lost", h.about().with("text", "lost " + h.lock));
                }
            }
        } catch (InterruptedException end) {
            // nobody interrupts it
        }
    }

    private void unlock(String lock) {
        Held h = held.get(lock);
        Event e = about(lock).with("op", "unlock");
        if (h == null) {
            say("invoke", e);
            say("fail", e.with("text", "holds nothing"));
            return;
        }
        Locks.Tenure grant = h.grant();
        boolean inner = h.grants.size() > 1;
        if (inner) {
            h.grants.removeFirst();
        } else {
            held.remove(lock);
            h.release();
            say("invoke", e);
        }
        String kind = "ok";
        try {
            h.ask(timeout, () -> {
                grant.unlock();
                return null;
            });
        } catch (IllegalMonitorStateException over) {
            kind = "fail";
            e.with("text", "that tenure is over: " + over.getMessage());
        } catch (Exception err) {
            kind = "unknown";
            e.with("text", words(err));
        }
        if (inner && kind.equals("ok")) {
            say("note", h.about().with("text", name + " unlocks " + lock + " once, and still holds it by its grant of token " + h.grant().token()));
            return;
        }
        if (inner) {
            say("invoke", e.copy().with("text", ""));
        } else {
            h.end();
        }
        say(kind, e);
    }

    /** Reads what a command is about. */
    private Request request(String op, String argument) throws Wrong {
        Matcher under = UNDER.matcher(argument);
        String lock = under.matches() ? under.group(2) : lastLock(), text = under.matches() ? under.group(1) : argument;
        int equals = text.indexOf('=');
        String key = op.equals("write") && equals >= 0 ? text.substring(0, equals) : text;
        if (key.isEmpty() || !key.equals(key.strip()) || op.equals("write") && equals < 0) {
            throw new Wrong(op + " " + argument + ": want " + op + (op.equals("write") ? " KEY=VALUE" : " KEY"));
        }
        Held h = held.get(lock);
        long token = h == null || op.equals("read") && arguments.text("reads", "").equals("plain") ? 0 : h.grant().token();
        Event e = about(lock).with("op", op).with("key", key).token(token);
        if (op.equals("write")) {
            e.with("value", text.substring(equals + 1));
        }
        if (arguments.text("scope", "").equals("key")) {
            e.with("scope", key);
        }
        return new Request(lock, e, token);
    }

    /** Looks before a request whether the lock is held, where --look is one of these, or a question to the library. Else it says that nothing was sent. */
    private boolean mayGoOn(Request r, String... looks) {
        Held h = held.get(r.lock);
        String look = arguments.text("look", "begin"), no = "it holds no lock";
        if (r.op().equals("read") || OWN_LOOKS.contains(look) && !List.of(looks).contains(look)) {
            return true;
        }
        if (h != null && OWN_LOOKS.contains(look)) {
            no = h.lost ? "its tenure has ended" : "";
        } else if (h != null) {
            String asked = "asked its library (" + look + ") whether it holds the lock: ";
            no = h.grant().seems(look) ? "" : asked + "no";
            if (no.isEmpty()) {
                say("note", h.about().with("text", name + " " + asked + "yes"));
            }
        }
        if (no.isEmpty()) {
            return true;
        }
        say("invoke", r.ask);
        say("fail", r.ask.copy().with("reason", "lost").with("text", no));
        return false;
    }

    private void begin(String argument) throws Wrong {
        String[] words = argument.split(" ", 2);
        String rest = words.length > 1 ? words[1] : "";
        Request r;
        switch (words[0]) {
            case "read", "write", "delete" -> r = request(words[0], rest);
            case "unlock" -> {
                String lock = rest.isBlank() ? lastLock() : rest.trim();
                if (!held.containsKey(lock)) {
                    unlock(lock);
                    return;
                }
                if (held.get(lock).grants.size() > 1) {
                    throw new Wrong("begin unlock: it has taken " + lock + " again, and ends that grant alone");
                }
                r = new Request(lock, about(lock).with("op", "unlock"), 0);
            }
            default -> throw new Wrong("begin " + argument + ": want a read, write, delete or unlock");
        }
        if (r.op().equals("unlock") || mayGoOn(r, "begin", "session")) {
            stand(r);
            say("note", r.ask.copy().with("value", "").with("text", "stands before the " + r.op()));
        }
    }

    private synchronized void stand(Request r) {
        begun = r;
        notifyAll();
    }

    private void finish() throws Wrong {
        if (begun == null) {
            throw new Wrong("finish: nothing was begun");
        }
        if (begun.op().equals("unlock")) {
            unlock(begun.lock);
        } else {
            perform(begun);
        }
        stand(null);
    }

    private void perform(Request r) {
        Event e = r.ask.copy().with("request", name + "-" + ++asked);
        say("invoke", e);
        try {
            say(storage.ask(e, r.token), e);
        } catch (InterruptedException end) {
            say("unknown", e.with("text", "the client ends"));
        }
    }

    private void status() {
        if (held.isEmpty()) {
            say("note", new Event().with("scope", arguments.text("lock")).with("text", "holds nothing"));
        }
        held.forEach((lock, h) -> say("note", h.about().with("text", (h.lost ? "lost " : "holds ") + lock)));
    }

    private void load(String argument) throws java.io.IOException {
        Heap.check();
        Duration want = Arguments.duration(argument.trim());
        Heap.Pause pause = heap.load(want);
        String text = "a collection of " + heap.mebibytes() + " MiB stops it for " + inWords(pause.work());
        if (pause.work().compareTo(want) < 0) {
            text += ", not for " + argument.trim() + ": its collector does most of its work while it runs";
        }
        say("note", new Event().with("took", pause.work().toNanos()).with("text", text));
    }

    private synchronized void gc() throws java.io.IOException { // what is learned meanwhile is told afterwards
        Heap.check();
        boolean stops = heap.stops();
        if (stops) {
            say("pause", new Event().with("cause", "GC"));
        } else {
            say("note", new Event().with("text", "its collector works, and " + name + " goes on meanwhile"));
        }
        Heap.Pause pause = heap.collect();
        if (!stops) { // a moment of that
            say("pause", new Event().with("cause", "GC"));
        }
        say("resume", new Event().with("cause", "GC").with("took", pause.took().toNanos()));
        say("note", new Event().with("text", "the log of its JVM says: " + pause.words()));
    }

    private static String inWords(Duration d) {
        double ms = d.toNanos() / 1e6;
        return ms < 1000 ? ms + " ms" : String.format(Locale.ROOT, "%.2f s", ms / 1000);
    }

    private static String words(Exception err) {
        return err instanceof java.util.concurrent.TimeoutException ? "no answer in time" : err.toString();
    }
}
