import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * The half of a client that is in a JVM: it does with a library's locks what a line of its input asks, and
 * answers by a line. What a client does in a scenario is known to the other half alone, which is gcsim's own
 * client: see internal/clients/jvm.
 */
public final class Agent {
    /** What the libraries do, where a scenario could choose something else. */
    private static final Map<String, List<String>> KNOWN = Map.of(
        "look", List.of("", "begin", "nothing", "session", "owner", "acquired"), "token", List.of("", "granted", "read-again", "czxid", "revision", "header", "lease"),
        "mode", List.of("", "exclusive"), "unlock", List.of("", "compare"), "renew", List.of("", "none"), "wait", List.of("", "0"));

    /** Says why something was not done, and will not be. */
    static final class Refused extends Exception {
        Refused(String text) {
            super(text);
        }
    }

    private final Fields arguments;
    private final Locks.Library library;
    private final Heap heap = new Heap();
    private final Web web = new Web();
    private final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, UTF_8);
    private final Map<String, Held> held = new ConcurrentHashMap<>();
    private final Map<String, Ask> asked = new ConcurrentHashMap<>();
    private final ExecutorService free = Executors.newCachedThreadPool(Agent::daemon); // of what belongs to no tenure
    private volatile Locks locks; // null: not reached yet

    private Agent(Fields arguments, Locks.Library library) {
        this.arguments = arguments;
        this.library = library;
    }

    /** Is the main program of a client with the locks of a library. It ends with its input. */
    public static void run(String[] words, Locks.Library library) {
        Thread here = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { // a signal to end is for the other half, which releases the locks
            try {
                here.join();
            } catch (InterruptedException none) {
                // nobody interrupts it
            }
        }));
        int status = 0;
        try {
            Fields arguments = Fields.of(words[0]);
            KNOWN.forEach((setting, values) -> {
                if (!values.contains(arguments.text(setting))) {
                    throw new IllegalArgumentException("--" + setting + " is " + arguments.text(setting) + ", and this client knows " + values);
                }
            });
            forgetClock();
            new Agent(arguments, library).obey();
        } catch (Exception err) {
            status = fail(err);
        }
        Runtime.getRuntime().halt(status); // a library's threads go on for ever
    }

    /** Says why the program ends, and returns its status. */
    private static int fail(Exception err) {
        boolean wrong = err instanceof IllegalArgumentException;
        System.err.println(wrong ? err.getMessage() : err);
        return wrong ? 2 : 1;
    }

    /** Takes away the files by which libfaketime speaks to child processes: a JVM that is killed would leave them behind. */
    private static void forgetClock() throws IOException {
        if (System.getenv("FAKETIME") == null) {
            return;
        }
        for (String file : List.of("faketime_shm_", "sem.faketime_sem_")) {
            Files.deleteIfExists(Path.of("/dev/shm", file + ProcessHandle.current().pid()));
        }
    }

    static Thread daemon(Runnable run) {
        Thread thread = new Thread(run, "client");
        thread.setDaemon(true);
        return thread;
    }

    /** Reports whether an exception says that the tenure was over before. */
    static boolean isOver(Exception err) {
        return err instanceof IllegalMonitorStateException || err instanceof ConcurrentModificationException;
    }

    private void obey() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Fields fields = Fields.of(line);
            if (!fields.text("op").equals("cancel")) {
                new Ask(fields).start();
                continue;
            }
            Ask ask = asked.get(fields.text("of"));
            if (ask != null) { // else it was answered just now
                web.giveUp();
                ask.cancel();
            }
        }
        free.shutdown();
        free.awaitTermination(arguments.time("timeout").toNanos(), TimeUnit.NANOSECONDS);
        if (locks != null) {
            locks.close();
        }
    }

    private synchronized void say(Fields line) {
        out.print(line.line() + "\n");
        out.flush();
    }

    /** Something that is asked. */
    private final class Ask implements Runnable {
        private final Fields fields;
        private final String op, tenure;
        private final Held of; // null: it belongs to no tenure
        private Thread runner; // null: it does not run
        private boolean cancelled;

        Ask(Fields fields) {
            this.fields = fields;
            op = fields.text("op");
            tenure = fields.text("tenure");
            of = tenure.isEmpty() ? null : held.computeIfAbsent(tenure, none -> new Held());
        }

        void start() {
            asked.put(fields.text("id"), this);
            (of == null || op.equals("told") ? free : of.thread).execute(this); // told does not wait for its turn
        }

        /** Nobody waits for it any more. It is answered as well. */
        synchronized void cancel() {
            cancelled = true;
            if (runner != null) {
                runner.interrupt();
            }
        }

        private synchronized void begins() {
            runner = Thread.currentThread();
            if (cancelled) {
                runner.interrupt();
            }
        }

        /** Reports whether somebody waits for it still. */
        private synchronized boolean ends() {
            runner = null;
            Thread.interrupted(); // which came too late
            return !cancelled;
        }

        @Override
        public void run() {
            Fields answer = new Fields().with("id", fields.text("id"));
            String end = "ok", text = "";
            begins();
            try {
                act(answer);
            } catch (Refused no) {
                end = "no";
                text = no.getMessage();
            } catch (Exception err) {
                end = isOver(err) ? "over" : "unknown";
                text = (err instanceof Locks.Over ? "" : err.getClass().getSimpleName() + ": ") + err.getMessage();
            }
            if (!ends() && op.equals("lock")) {
                end = giveBack(end);
            }
            asked.remove(fields.text("id"));
            say(answer.with("end", end).with("text", text));
            if (of != null && of.over() && List.of("lock", "unlock").contains(op)) {
                held.remove(tenure);
                of.thread.shutdown();
            } else if (op.equals("lock")) {
                daemon(this::watch).start();
            }
        }

        /** Releases a lock that came when nobody waited for it any more. */
        private String giveBack(String end) {
            try {
                if (!of.over()) {
                    of.unlock();
                }
                return "no";
            } catch (Exception err) {
                return "unknown";
            }
        }

        private void watch() {
            try {
                if (of.loses(arguments.time("ttl"))) {
                    say(new Fields().with("lost", tenure));
                }
            } catch (InterruptedException | RejectedExecutionException released) {
                // it was released just now
            }
        }

        private void act(Fields answer) throws Exception {
            switch (op) {
                case "reach" -> reach(answer);
                case "lock" -> {
                    Duration within = fields.time("within");
                    Locks.Tenure granted = locks.lock(fields.text("lock"), within);
                    if (granted == null) {
                        throw new Refused(locks.refusal());
                    }
                    of.granted(granted, answer);
                }
                case "again" -> of.granted(of.grant().again(), answer);
                case "unlock" -> of.unlock();
                case "look" -> answer.with("yes", of.grant().seems(fields.text("look")));
                case "told" -> {
                    Boolean told = of.grant().told();
                    if (told == null) {
                        throw new Refused("this library tells nobody of a loss");
                    }
                    answer.with("yes", told);
                }
                case "waiter" -> answer.with("name", locks.waiter());
                case "stands" -> answer.with("yes", locks.stands(fields.text("lock"), fields.text("name")));
                case "token" -> answer.with("token", locks.readToken(fields.text("lock")));
                case "send" -> web.send(fields, answer);
                case "load" -> heap.load(fields.time("want"), answer);
                case "gc" -> heap.collect(answer);
                default -> throw new Refused("the JVM does not know " + op);
            }
        }

        private void reach(Fields answer) throws Exception {
            if (locks == null) {
                try {
                    locks = library.open(arguments);
                } catch (IllegalArgumentException err) { // the library lacks the code for a setting
                    Runtime.getRuntime().halt(fail(err));
                }
            }
            locks.reach();
            answer.with("queues", locks.waiter() != null);
        }
    }
}
