import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A client of scenarios: it obeys commands, a line each, and says events, a line each. docs/agent.md describes the protocol. */
public final class Agent {
    private static final String END = new String("end"); // of the input; told by its identity
    private static final Pattern LOCK = Pattern.compile("(?!within )(\\S+)?(?: ?within (\\S+))?|within (\\S+)");
    private static final List<String> WHILE_STANDING = List.of("finish", "send finish", "gc");

    /** A mistake in a command: nothing was done. */
    static final class Wrong extends Exception {
        Wrong(String text) {
            super(text);
        }
    }

    private final Arguments arguments;
    private final String name, ownLock;
    private final Duration timeout;
    private final Locks locks;
    private final Heap heap = new Heap();
    private final Report report;
    private final Holdings holdings;
    private final Requests requests;
    private final BlockingDeque<Object> inbox = new LinkedBlockingDeque<>(); // lines, and what is to be done between them

    private Agent(Arguments arguments, Clock clock, Locks locks, Storage storage) {
        this.arguments = arguments;
        this.locks = locks;
        name = arguments.text("name");
        ownLock = arguments.text("lock");
        timeout = arguments.time("timeout");
        report = new Report(arguments, clock);
        holdings = new Holdings(arguments, locks, report, inbox::add);
        requests = new Requests(arguments, locks, storage, holdings, report);
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
        Locks locks = null;
        while (true) {
            try {
                locks = locks == null ? library.open(arguments) : locks;
                locks.reach();
                storage.reach();
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
            inbox.addFirst(END);
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
        report.say("note", new Event().with("key", "protocol").with("value", "1").with("text", "ready"));
        try {
            for (String line = next(); line != END && !report.broken(); line = next()) {
                obey(line);
            }
        } catch (InterruptedException end) {
            // it is as good as END
        }
        Thread.interrupted();
        requests.giveUp();
        holdings.end();
        requests.end();
        locks.close();
        return report.broken() ? 1 : 0;
    }

    private void read() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (!line.isEmpty()) {
                    inbox.add(line);
                }
            }
        } catch (java.io.IOException err) {
            // it ends the input as well
        }
        inbox.add(END);
    }

    /** The next line. It does what is to be done before it. */
    private String next() throws InterruptedException {
        while (true) {
            Object next = inbox.take();
            if (next instanceof String line) {
                return line;
            }
            ((Runnable) next).run();
        }
    }

    private void obey(String line) {
        String[] words = line.split(" ", 2);
        String argument = words.length > 1 ? words[1] : "";
        try {
            if (report.stands() && !WHILE_STANDING.contains(line.trim())) {
                throw new Wrong(words[0] + ": something was begun, finish it first");
            }
            switch (words[0]) {
                case "lock", "trylock" -> {
                    Naming lock = naming(words[0], argument);
                    holdings.take(words[0], lock.name, words[0].equals("trylock") ? Duration.ZERO : lock.within);
                }
                case "queue" -> holdings.queue(argument.isBlank() ? ownLock : argument.trim());
                case "wait" -> {
                    Naming lock = naming(words[0], argument);
                    holdings.await(lock.name, lock.within);
                }
                case "unlock" -> requests.unlock(argument.isBlank() ? holdings.last() : argument.trim());
                case "read", "write", "delete", "change", "finish", "retry" -> requests.act(words[0], argument);
                case "send" -> requests.send(argument);
                case "begin" -> requests.begin(argument);
                case "count" -> new Counting(name, ownLock, holdings, requests, report, this::awaitFinish).run(argument);
                case "status" -> status();
                case "load" -> load(argument);
                case "gc" -> gc();
                case "help" -> report.say("note", new Event().with("text", "commands: lock, trylock, queue, wait, unlock, read, write, delete, change, begin, finish, send, retry, count, status, load, gc"));
                default -> throw new Wrong("unknown command " + words[0]);
            }
        } catch (Wrong | IllegalArgumentException | java.io.IOException err) {
            report.say("error", new Event().with("text", err.getMessage()));
        }
    }

    /** The lock that a command names, and for how long it waits. */
    private record Naming(String name, Duration within) {
    }

    private Naming naming(String op, String argument) throws Wrong {
        Matcher found = LOCK.matcher(argument.trim());
        if (!found.matches()) {
            throw new Wrong(op + " " + argument + ": want " + op + " [NAME] [within TIME]; no library here takes a lock in a tenure of another client");
        }
        String time = found.group(2) == null ? found.group(3) : found.group(2);
        return new Naming(found.group(1) == null ? ownLock : found.group(1), time == null ? timeout : Arguments.duration(time));
    }

    /** Obeys nothing but finish. */
    private void awaitFinish() throws InterruptedException {
        for (String line = next(); !line.equals("finish") && !line.equals("send finish"); line = next()) {
            if (line == END) {
                inbox.addFirst(END);
                throw new InterruptedException("the input ended before it was told to finish");
            }
            report.say("error", new Event().with("text", line + ": it stands in the middle of a count, and waits for finish"));
        }
    }

    private void status() {
        if (holdings.all().isEmpty()) {
            report.say("note", new Event().with("scope", ownLock).with("text", "holds nothing"));
        }
        holdings.all().forEach(h -> report.say("note", h.about().with("text", (h.lost ? "lost " : h.waits() ? "waits for " : "holds ") + h.lock)));
    }

    private void load(String argument) throws java.io.IOException {
        Heap.check();
        Duration want = Arguments.duration(argument.trim());
        Heap.Pause pause = heap.load(want);
        String text = "a collection of " + heap.mebibytes() + " MiB stops it for " + inWords(pause.work());
        if (pause.work().compareTo(want) < 0) {
            text += ", not for " + argument.trim() + ": its collector does most of its work while it runs";
        }
        report.say("note", new Event().with("took", pause.work().toNanos()).with("text", text));
    }

    private void gc() throws java.io.IOException {
        Heap.check();
        synchronized (report) { // what is learned meanwhile is told afterwards
            collect();
        }
    }

    private void collect() throws java.io.IOException {
        boolean stops = heap.stops();
        if (stops) {
            report.say("pause", new Event().with("cause", "GC"));
        } else {
            report.say("note", new Event().with("text", "its collector works, and " + name + " goes on meanwhile"));
        }
        Heap.Pause pause = heap.collect();
        if (!stops) { // a moment of that
            report.say("pause", new Event().with("cause", "GC"));
        }
        report.say("resume", new Event().with("cause", "GC").with("took", pause.took().toNanos()));
        report.say("note", new Event().with("text", "the log of its JVM says: " + pause.words()));
    }

    private static String inWords(Duration d) {
        double ms = d.toNanos() / 1e6;
        return ms < 1000 ? ms + " ms" : String.format(Locale.ROOT, "%.2f s", ms / 1000);
    }

    static String words(Exception err) {
        return err instanceof java.util.concurrent.TimeoutException ? "no answer in time" : err.toString();
    }
}
