import java.time.Duration;
import java.util.Deque;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A lock that was asked for, and the thread on which it is. */
final class Held {
    final String lock;
    /** The grants of the tenure, the latest first: more than one where the lock was taken again. */
    final Deque<Locks.Tenure> grants = new ConcurrentLinkedDeque<>();
    volatile boolean lost;
    private final CountDownLatch released = new CountDownLatch(1);
    private final ExecutorService thread = Executors.newSingleThreadExecutor(run -> {
        Thread t = new Thread(run, "holder");
        t.setDaemon(true);
        return t;
    });

    Held(String lock) {
        this.lock = lock;
    }

    /** Does something on the lock's thread, and waits for so long at most. */
    <T> T ask(Duration within, Callable<T> what) throws Exception {
        Future<T> answer = thread.submit(what);
        try {
            return answer.get(within.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException late) {
            answer.cancel(true);
            throw late;
        } catch (ExecutionException err) {
            throw err.getCause() instanceof Exception cause ? cause : err;
        }
    }

    /** Says that the agent lets go of it by itself, unless it is lost: then the loss is news still. */
    void release() {
        if (!lost) {
            released.countDown();
        }
    }

    boolean released() {
        return released.getCount() == 0;
    }

    /** Waits for so long at most until the agent lets go of it, and reports whether it has. */
    boolean over(Duration within) throws InterruptedException {
        return released.await(within.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Ends the thread. */
    void end() {
        thread.shutdown();
    }

    Locks.Tenure grant() {
        return grants.getFirst();
    }

    /** An event about the lock, with the tenure and the token of the latest grant. */
    Event about() {
        return new Event().with("scope", lock).with("tenure", grant().name()).token(grant().token());
    }
}
