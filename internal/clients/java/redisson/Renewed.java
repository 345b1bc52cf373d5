import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** A RLock that is taken without a lease: Redisson's watchdog renews it, every third of its time. */
class Renewed extends Redissons {
    private final Function<String, RLock> locks;

    Renewed(RedissonClient client, Function<String, RLock> locks) {
        super(client);
        this.locks = locks;
    }

    @Override
    public Tenure lock(String name, Duration within) throws InterruptedException {
        RLock lock = locks.apply(name);
        return lock.tryLock(within.toMillis(), TimeUnit.MILLISECONDS) ? new Owned(lock) : null;
    }
}
