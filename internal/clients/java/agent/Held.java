import java.time.Duration;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A tenure, from the first attempt to take the lock to its release, and the thread on which it is. */
final class Held {
    final ExecutorService thread = Executors.newSingleThreadExecutor(Agent::daemon);
    /** The latest first: more than one where the lock was taken again. */
    private final Deque<Locks.Tenure> grants = new ConcurrentLinkedDeque<>();
    private final CountDownLatch released = new CountDownLatch(1);

    void granted(Locks.Tenure tenure, Fields answer) throws Agent.Refused {
        if (tenure == null) {
            throw new Agent.Refused("this library's lock is not to be taken twice");
        }
        grants.addFirst(tenure);
        answer.with("name", tenure.name()).with("token", tenure.token()).with("reenters", tenure.reenters());
    }

    Locks.Tenure grant() {
        return grants.getFirst();
    }

    /** Reports whether there is nothing to release. */
    boolean over() {
        return grants.isEmpty();
    }

    /** Ends the latest grant. It can be tried again, unless it returns or says that the tenure was over. */
    void unlock() throws Exception {
        Locks.Tenure last = grant();
        if (grants.size() == 1) {
            released.countDown();
        }
        try {
            last.unlock();
        } catch (Exception err) {
            if (Agent.isOver(err)) {
                grants.remove(last);
            }
            throw err;
        }
        grants.remove(last);
    }

    /** Returns when the tenure is over, and reports whether it was lost. Most of these libraries tell nobody of a loss: this asks. */
    boolean loses(Duration ttl) throws InterruptedException {
        for (long seen = System.nanoTime(); !released.await(ttl.toNanos() / 3, TimeUnit.NANOSECONDS); ) {
            long asks = System.nanoTime();
            Future<Boolean> answer = thread.submit(() -> grant().held());
            boolean held;
            try {
                held = answer.get(ttl.toNanos(), TimeUnit.NANOSECONDS);
                seen = asks;
            } catch (ExecutionException | TimeoutException err) { // it cannot be known
                answer.cancel(true);
                held = System.nanoTime() - seen <= ttl.toNanos();
            }
            if (!held) {
                return released.getCount() > 0;
            }
        }
        return false;
    }
}
