import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.SslVerificationMode;

/** A client with the locks of Redisson. The TTL is the watchdog's time, or the lease. */
public final class Peer {
    private Peer() {
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::locks);
    }

    private static Locks locks(Fields arguments) {
        long lease = arguments.time("ttl").toMillis();
        return switch (arguments.text("by")) {
            case "redisson-redlock" -> new NodeByNode(nodes(arguments), RedissonRedLock::new, lease);
            case "redisson-multi" -> new NodeByNode(nodes(arguments), RedissonMultiLock::new, lease);
            case "redisson-multi-seconds" -> new NodeByNode(nodes(arguments), RedissonMultiLock::new, lease) {
                @Override
                boolean take(RLock lock, Duration within) throws InterruptedException {
                    if (within.isZero()) {
                        return super.take(lock, within);
                    }
                    lock.lockInterruptibly(TimeUnit.MILLISECONDS.toSeconds(lease), TimeUnit.SECONDS);
                    return true;
                }
            };
            default -> locks(arguments, connect(arguments), lease);
        };
    }

    private static Locks locks(Fields arguments, RedissonClient client, long lease) {
        return switch (arguments.text("by")) {
            case "redisson" -> new Renewed(client, client::getLock);
            case "redisson-spin" -> new Renewed(client, client::getSpinLock);
            case "redisson-fair" -> new Renewed(client, client::getFairLock) {
                @Override
                public boolean stands(String lock, String waiter) {
                    return client.getQueue("redisson_lock_queue:{" + lock + "}", StringCodec.INSTANCE).contains(waiter);
                }
            };
            case "redisson-read" -> new Renewed(client, name -> client.getReadWriteLock(name).readLock());
            case "redisson-write" -> new Renewed(client, name -> client.getReadWriteLock(name).writeLock()) {
                @Override
                String owner() {
                    return super.owner() + ":write";
                }
            };
            case "redisson-lease" -> new Leased(client, lease);
            case "redisson-fenced" -> new WithToken(client);
            case "redisson-fenced-lease" -> new LeaseIgnored(client, lease);
            case "redisson-reentrant" -> new TokenEachTime(client);
            default -> throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has the locks of Redisson");
        };
    }

    private static RedissonClient connect(Fields arguments) {
        Config config = config(arguments.text("endpoints"));
        config.setLockWatchdogTimeout(arguments.time("ttl").toMillis());
        config.useSingleServer().setTimeout((int) arguments.time("timeout").toMillis());
        return Redisson.create(config);
    }

    /** Connects a client with each node. Its timeout is Redisson's default, 3 s. */
    private static List<Redisson> nodes(Fields arguments) {
        return Stream.of(arguments.text("endpoints").split(",")).map(node -> (Redisson) Redisson.create(config(node))).toList();
    }

    private static Config config(String address) {
        RedisUrl url = RedisUrl.ofEnvironment();
        Config config = new Config().setThreads(2).setNettyThreads(2);
        if (!url.password().isEmpty()) {
            config.setUsername(url.user().isEmpty() ? null : url.user()).setPassword(url.password());
        }
        config.setSslVerificationMode(url.verified() ? SslVerificationMode.STRICT : SslVerificationMode.NONE);
        config.useSingleServer().setAddress((url.tls() ? "rediss://" : "redis://") + address)
            .setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
        return config;
    }
}
