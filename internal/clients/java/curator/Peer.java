import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.data.Stat;
import org.springframework.integration.zookeeper.lock.ZookeeperLockRegistry;

/** A client with the locks of Curator, by itself or in Spring Integration's ZookeeperLockRegistry. The TTL is the timeout of its session. */
public final class Peer implements Locks {
    private static final int RETRY = 100; // ms

    private final CuratorFramework client;
    private final ZookeeperLockRegistry registry;
    private final String recipe;
    private final boolean obeysSuspended;

    private Peer(Fields arguments) {
        recipe = arguments.text("by");
        if (!List.of("curator", "curator-read", "curator-write", "spring-zookeeper").contains(recipe)) {
            throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has the locks of Curator");
        }
        obeysSuspended = arguments.text("suspended").equals("obeyed");
        client = CuratorFrameworkFactory.newClient(arguments.text("endpoints"), (int) arguments.time("ttl").toMillis(),
            (int) arguments.time("timeout").toMillis(), new RetryForever(RETRY));
        client.start();
        registry = new ZookeeperLockRegistry(client, lock -> lock);
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::new);
    }

    @Override
    public void reach() throws Exception {
        client.checkExists().forPath("/");
    }

    @Override
    public void close() {
        registry.destroy();
        client.close();
    }

    @Override
    public Tenure lock(String name, Duration within) throws Exception {
        return switch (recipe) {
            case "curator-read" -> {
                InterProcessReadWriteLock.ReadLock lock = new InterProcessReadWriteLock(client, name).readLock();
                yield take(lock, lock::getLockPath, within);
            }
            case "curator-write" -> {
                InterProcessReadWriteLock.WriteLock lock = new InterProcessReadWriteLock(client, name).writeLock();
                yield take(lock, lock::getLockPath, within);
            }
            case "spring-zookeeper" -> takeOfRegistry(name, within);
            default -> {
                Mutex lock = new Mutex(client, name);
                yield take(lock, lock::node, within);
            }
        };
    }

    private Tenure take(InterProcessMutex lock, Supplier<String> node, Duration within) throws Exception {
        if (!lock.acquire(within.toMillis(), TimeUnit.MILLISECONDS)) {
            return null;
        }
        long czxid = client.checkExists().forPath(node.get()).getCzxid();
        return new Acquired(client, obeysSuspended, lock::release, lock::isAcquiredInThisProcess, node.get(), czxid);
    }

    /** The registry tells neither its locks' nodes nor whether it has acquired one. Its tryLock without a time waits for a second. */
    private Tenure takeOfRegistry(String name, Duration within) throws Exception {
        Lock lock = registry.obtain(name);
        if (!(within.isZero() ? lock.tryLock() : lock.tryLock(within.toMillis(), TimeUnit.MILLISECONDS))) {
            return null;
        }
        long session = client.getZookeeperClient().getZooKeeper().getSessionId();
        for (String node : new InterProcessMutex(client, name).getParticipantNodes()) { // the holder's is the first
            Stat stat = client.checkExists().forPath(node);
            if (stat != null && stat.getEphemeralOwner() == session) {
                return new Acquired(client, obeysSuspended, lock::unlock, null, node, stat.getCzxid());
            }
        }
        throw new IllegalStateException("the session ended with the grant"); // and its nodes are gone
    }

    /** Tells which node it has, as the other locks do. */
    private static final class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        String node() {
            return getLockPath();
        }
    }
}
