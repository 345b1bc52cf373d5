import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;

/** A RFencedLock by lockAndGetToken with a lease, which Redisson does not use. It waits until it has the lock. */
final class LeaseIgnored extends WithToken {
    private final long lease; // ms

    LeaseIgnored(RedissonClient client, long lease) {
        super(client);
        this.lease = lease;
    }

    @Override
    public Tenure lock(String name, Duration within) {
        RFencedLock lock = client.getFencedLock(name);
        return granted(lock, lock.lockAndGetToken(lease, TimeUnit.MILLISECONDS));
    }
}
