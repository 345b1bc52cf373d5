import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

/**
 * Takes locks of Redisson without a lease, one after the other, each in a thread of its own, which gives the
 * lock back. When the watchdog's time is over three times, it counts the locks that are taken.
 * Arguments: the server, how many locks, and "interrupted" where a thread is interrupted while it takes its
 * lock.
 */
public final class Interrupted {
    private static final long WATCHDOG = 1000; // ms

    private Interrupted() {
    }

    public static void main(String[] arguments) throws ExecutionException, InterruptedException {
        Config config = new Config();
        config.setLockWatchdogTimeout(WATCHDOG).useSingleServer().setAddress("redis://" + arguments[0]);
        RedissonClient client = Redisson.create(config);
        int count = Integer.parseInt(arguments[1]);
        boolean[] freed = new boolean[count];
        for (int i = 0; i < count; i++) {
            RLock lock = client.getLock("lock" + i);
            FutureTask<Boolean> task = new FutureTask<>(() -> hold(lock));
            Thread holder = new Thread(task);
            holder.start();
            if (arguments[2].equals("interrupted")) {
                spin(i % 100 * 15_000L); // each of a hundred at another moment of its request
                holder.interrupt();
            }
            freed[i] = task.get();
        }
        Thread.sleep(3 * WATCHDOG);
        int taken = 0, takenAgain = 0;
        for (int i = 0; i < count; i++) {
            if (client.getLock("lock" + i).isLocked()) {
                taken++;
                takenAgain += freed[i] ? 1 : 0;
            }
        }
        System.out.printf("%d taken, %d of them freed before%n", taken, takenAgain);
        client.shutdown();
    }

    private static void spin(long nanos) {
        for (long begin = System.nanoTime(); System.nanoTime() - begin < nanos;) {
            Thread.onSpinWait();
        }
    }

    /** Takes the lock, and gives it back also where it was interrupted. Returns whether the unlock freed it. */
    private static boolean hold(RLock lock) {
        try {
            lock.lockInterruptibly();
        } catch (InterruptedException | RedisException e) {
            // the lock may be taken
        }
        Thread.interrupted(); // so that nothing interrupts the unlock
        try {
            lock.unlock();
            return true;
        } catch (IllegalMonitorStateException | RedisException e) {
            return false;
        }
    }
}
