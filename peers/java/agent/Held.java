import java.time.Duration;
import java.util.Deque;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
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
    /** Of the last numbered write under it. */
    long sequence;
    private Place place; // null: it does not wait
    private final CountDownLatch released = new CountDownLatch(1);
    private final ExecutorService thread = Executors.newSingleThreadExecutor(run -> {
        Thread t = new Thread(run, "holder");
        t.setDaemon(true);
        return t;
    });

    /**
     * A wait in the background.
     *
     * @param name    what the lock service's account would call the tenure
     * @param asked   the question
     * @param granted the tenure, or null where the client has left the queue
     */
    record Place(String name, Event asked, CompletableFuture<Locks.Tenure> granted) {
    }

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

    /** Waits for the lock on its thread, in the background. */
    Place enter(String name, Event asked, Callable<Locks.Tenure> lock) {
        CompletableFuture<Locks.Tenure> granted = new CompletableFuture<>();
        place = new Place(name, asked, granted);
        thread.submit(() -> {
            try {
                Locks.Tenure t = lock.call();
                if (!granted.complete(t) && t != null) { // it has left the queue meanwhile
                    Thread.interrupted();
                    t.unlock();
                }
            } catch (Exception err) {
                granted.completeExceptionally(err);
            }
            return null;
        });
        return place;
    }

    boolean waits() {
        return place != null;
    }

    Place place() {
        return place;
    }

    /** Leaves the queue, unless the lock is granted. It takes so long at most. */
    void leave(Duration within) {
        if (place.granted.complete(null)) {
            thread.shutdownNow();
            try {
                thread.awaitTermination(within.toNanos(), TimeUnit.NANOSECONDS);
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Waits no more: what became of the place is known. */
    void settle() {
        place = null;
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

    /** The token of the latest grant; 0: there is none. */
    long token() {
        return grants.isEmpty() ? 0 : grant().token();
    }

    /** An event about the lock, with the tenure and the token of the latest grant, or of its place in the queue. */
    Event about() {
        return new Event().with("scope", lock).with("tenure", waits() ? place.name : grant().name()).token(token());
    }
}
