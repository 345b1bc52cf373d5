import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/** What the client says: events, a line each. While the client stands, it says nothing of its losses. */
final class Report {
    private final Clock clock;
    private final String name;
    private final boolean words;
    private final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    private boolean standing;
    private long last;

    Report(Arguments arguments, Clock clock) {
        this.clock = clock;
        name = arguments.text("name");
        words = arguments.text("words", null) != null;
    }

    /** Says an event. It happens now. */
    synchronized Outcome say(String kind, Event e) {
        Instant now = clock.now();
        last = Math.max(last, now.getEpochSecond() * 1_000_000_000L + now.getNano());
        out.print(e.line(last, name, kind) + "\n");
        out.flush();
        if (words) {
            System.err.println(kind + " " + e.text("op") + " " + e.text("scope") + " " + e.text("key") + " " + e.text("text"));
        }
        return new Outcome(kind, e);
    }

    /** Says before what it stands, from now on. */
    synchronized void stand(Event e) {
        standing = true;
        say("note", e);
    }

    synchronized void goOn() {
        standing = false;
        notifyAll();
    }

    synchronized boolean stands() {
        return standing;
    }

    /** Says that a lock is lost, unless the client has let go of it by itself meanwhile. */
    synchronized void lost(Held h) throws InterruptedException {
        while (standing) {
            wait();
        }
        if (!h.released()) {
            say("lost", h.about().with("text", "lost " + h.lock));
        }
    }

    /** Reports whether nobody reads it any more. */
    boolean broken() {
        return out.checkError();
    }
}
