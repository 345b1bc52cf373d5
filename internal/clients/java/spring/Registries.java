import java.time.Duration;
import java.util.UUID;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.scheduling.concurrent.SimpleAsyncTaskScheduler;

/** The locks of Spring Integration's RedisLockRegistry. The TTL is its expireAfter: nothing renews a lock, unless the registry has a scheduler. */
final class Registries implements Locks {
    /** The registry's key, and where its locks begin: gcsim's account reads the keys "lock:{NAME}". */
    private static final String REGISTRY = "lock";

    private final LettuceConnectionFactory redis;
    private final StringRedisTemplate template;
    private final RedisLockType type;
    private final boolean renews;
    private final SimpleAsyncTaskScheduler scheduler = new SimpleAsyncTaskScheduler();
    private final Duration ttl;

    Registries(LettuceConnectionFactory redis, RedisLockType type, boolean renews, Duration ttl) {
        this.redis = redis;
        this.type = type;
        this.renews = renews;
        this.ttl = ttl;
        template = new StringRedisTemplate(redis);
    }

    /** Takes and releases a lock that nobody else asks for: the library's first attempt loads what it needs, for up to seconds. */
    @Override
    public void reach() throws Exception {
        lock("fencelab-" + UUID.randomUUID(), Duration.ZERO).unlock();
    }

    @Override
    public void close() {
        scheduler.close();
        redis.destroy();
    }

    /** Has a registry for each tenure: to Redis all holders of one registry are the same. */
    @Override
    public Tenure lock(String name, Duration within) throws InterruptedException {
        RedisLockRegistry registry = new RedisLockRegistry(redis, REGISTRY, ttl);
        registry.setRedisLockType(type);
        if (renews) {
            registry.setRenewalTaskScheduler(scheduler);
        }
        String path = "{" + name + "}";
        DistributedLock lock = registry.obtain(path);
        boolean granted = false;
        try {
            granted = lock.tryLock(within, ttl);
            String key = REGISTRY + ":" + path;
            return granted ? new Held(registry, lock, template, key, template.opsForValue().get(key)) : null;
        } finally {
            if (!granted) {
                registry.destroy();
            }
        }
    }

    /** A tenure, which Redis knows by the registry's client ID. */
    private record Held(RedisLockRegistry registry, DistributedLock lock, StringRedisTemplate template, String key, String name) implements Tenure {
        /** Is always true: the registry asks Redis nothing, and has nobody told of a loss. */
        @Override
        public boolean held() {
            return true;
        }

        /** The registry has no such question: the answer is that of Redis. */
        @Override
        public boolean seems(String look) {
            return look.equals("owner") ? name.equals(template.opsForValue().get(key)) : Tenure.super.seems(look);
        }

        @Override
        public void unlock() {
            try {
                lock.unlock();
            } finally {
                registry.destroy();
            }
        }
    }
}
