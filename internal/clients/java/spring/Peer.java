import io.lettuce.core.SslVerifyMode;
import java.time.Duration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** A client with locks that reach Redis by Spring Data. */
public final class Peer {
    private Peer() {
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::locks);
    }

    private static Locks locks(Fields arguments) {
        Duration ttl = arguments.time("ttl");
        return switch (arguments.text("by")) {
            case "spring" -> new Registries(connect(arguments), RedisLockType.SPIN_LOCK, false, ttl);
            case "spring-renewed" -> new Registries(connect(arguments), RedisLockType.SPIN_LOCK, true, ttl);
            case "spring-pubsub" -> new Registries(connect(arguments), RedisLockType.PUB_SUB_LOCK, false, ttl);
            case "shedlock-redis" -> new ShedLocks(connect(arguments), false, false, ttl);
            case "shedlock-redis-safe" -> new ShedLocks(connect(arguments), true, false, ttl);
            case "shedlock-redis-extended" -> new ShedLocks(connect(arguments), false, true, ttl);
            case "shedlock-redis-safe-extended" -> new ShedLocks(connect(arguments), true, true, ttl);
            default -> throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has locks that reach Redis by Spring Data");
        };
    }

    private static LettuceConnectionFactory connect(Fields arguments) {
        String[] address = arguments.text("endpoints").split(":");
        RedisUrl url = RedisUrl.ofEnvironment();
        RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(address[0], Integer.parseInt(address[1]));
        server.setUsername(url.user().isEmpty() ? null : url.user());
        server.setPassword(url.password());
        LettuceClientConfiguration.LettuceClientConfigurationBuilder client = LettuceClientConfiguration.builder().commandTimeout(arguments.time("timeout"));
        if (url.tls()) {
            client.useSsl().verifyPeer(url.verified() ? SslVerifyMode.FULL : SslVerifyMode.NONE);
        }
        LettuceConnectionFactory redis = new LettuceConnectionFactory(server, client.build());
        redis.afterPropertiesSet();
        redis.start();
        return redis;
    }
}
