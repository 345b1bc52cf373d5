import io.lettuce.core.SslVerifyMode;
import java.time.Duration;
import java.util.UUID;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.scheduling.concurrent.SimpleAsyncTaskScheduler;

/** A client with the locks of Spring Integration's RedisLockRegistry. The TTL is its expireAfter: nothing renews a lock, unless the registry has a scheduler. */
public final class Peer implements Locks {
    /** The registry's key, and where its locks begin: gcsim's account reads the keys "lock:{NAME}". */
    private static final String REGISTRY = "lock";

    private final LettuceConnectionFactory redis;
    private final StringRedisTemplate template;
    private final RedisLockType type;
    private final boolean renews;
    private final SimpleAsyncTaskScheduler scheduler = new SimpleAsyncTaskScheduler();
    private final Duration ttl;

    private Peer(Fields arguments) {
        type = switch (arguments.text("by")) {
            case "spring", "spring-renewed" -> RedisLockType.SPIN_LOCK;
            case "spring-pubsub" -> RedisLockType.PUB_SUB_LOCK;
            default -> throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has the locks of Spring");
        };
        renews = arguments.text("by").equals("spring-renewed");
        ttl = arguments.time("ttl");
        String[] address = arguments.text("endpoints").split(":");
        RedisUrl url = RedisUrl.ofEnvironment();
        RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(address[0], Integer.parseInt(address[1]));
        server.setUsername(url.user().isEmpty() ? null : url.user());
        server.setPassword(url.password());
        LettuceClientConfiguration.LettuceClientConfigurationBuilder client = LettuceClientConfiguration.builder().commandTimeout(arguments.time("timeout"));
        if (url.tls()) {
            client.useSsl().verifyPeer(url.verified() ? SslVerifyMode.FULL : SslVerifyMode.NONE);
        }
        redis = new LettuceConnectionFactory(server, client.build());
        redis.afterPropertiesSet();
        redis.start();
        template = new StringRedisTemplate(redis);
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::new);
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
