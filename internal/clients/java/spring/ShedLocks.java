import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.serializer.StringRedisSerializer;

/** The locks of ShedLock's RedisLockProvider. The TTL is lockAtMostFor: nothing renews a lock, unless the client extends it. */
final class ShedLocks implements Locks {
    private static final long AGAIN = 100; // ms: ShedLock itself has no wait
    /** What the library puts before a lock's name by default: gcsim's account reads the keys "job-lock:default:{NAME}". */
    private static final String BEFORE = "job-lock:default:";

    private final LettuceConnectionFactory redis;
    private final StringRedisTemplate template;
    private final Written written = new Written();
    private final LockProvider provider;
    private final boolean renews;
    private final Duration ttl;

    ShedLocks(LettuceConnectionFactory redis, boolean safeUpdate, boolean renews, Duration ttl) {
        this.redis = redis;
        this.renews = renews;
        this.ttl = ttl;
        template = new StringRedisTemplate(redis);
        template.setValueSerializer(written);
        provider = new RedisLockProvider.Builder(template).safeUpdate(safeUpdate).build();
    }

    /** Takes and releases a lock that nobody else asks for: the library's first attempt loads what it needs. */
    @Override
    public void reach() throws Exception {
        lock("fencelab-" + UUID.randomUUID(), Duration.ZERO).unlock();
    }

    @Override
    public void close() {
        redis.destroy();
    }

    @Override
    public Tenure lock(String name, Duration within) throws InterruptedException {
        String path = "{" + name + "}";
        long until = System.nanoTime() + within.toNanos();
        Optional<SimpleLock> lock = attempt(path);
        while (lock.isEmpty() && System.nanoTime() < until) {
            Thread.sleep(AGAIN);
            lock = attempt(path);
        }
        return lock.map(held -> new Held(held, written.last.get(), BEFORE + path)).orElse(null);
    }

    private Optional<SimpleLock> attempt(String path) {
        return provider.lock(new LockConfiguration(ClockProvider.now(), path, ttl, Duration.ZERO));
    }

    /** Keeps what a thread wrote last, which is the value of its lock's key: the library tells it to nobody. */
    private static final class Written extends StringRedisSerializer {
        final ThreadLocal<String> last = new ThreadLocal<>();

        @Override
        public byte[] serialize(String value) {
            last.set(value);
            return super.serialize(value);
        }
    }

    /** A tenure, which Redis knows by the value of the lock's key. */
    private final class Held implements Tenure {
        private final String name, key;
        private SimpleLock lock;

        Held(SimpleLock lock, String name, String key) {
            this.lock = lock;
            this.name = name;
            this.key = key;
        }

        @Override
        public String name() {
            return name;
        }

        /** Asks by extend, or not at all: ShedLock has no such question, and has nobody told of a loss. */
        @Override
        public boolean held() {
            if (!renews) {
                return true;
            }
            Optional<SimpleLock> extended = lock.extend(ttl, Duration.ZERO);
            extended.ifPresent(next -> lock = next); // the one before is of no use any more
            return extended.isPresent();
        }

        /** Where the client extends no lock, the answer is that of Redis. */
        @Override
        public boolean seems(String look) {
            if (!look.equals("owner")) {
                return Tenure.super.seems(look);
            }
            return renews ? held() : name.equals(template.opsForValue().get(key));
        }

        @Override
        public void unlock() {
            lock.unlock();
        }
    }
}
