import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** A RLock that is taken with a lease: nothing renews it. */
final class Leased extends Redissons {
    private final long lease; // ms

    Leased(RedissonClient client, long lease) {
        super(client);
        this.lease = lease;
    }

    @Override
    public Tenure lock(String name, Duration within) throws InterruptedException {
        RLock lock = client.getLock(name);
        return lock.tryLock(within.toMillis(), lease, TimeUnit.MILLISECONDS) ? new Owned(lock) : null;
    }
}
