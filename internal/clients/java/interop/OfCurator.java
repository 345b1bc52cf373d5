import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryForever;

/** Curator, with a client for each lease: it is the timeout of the client's session. */
final class OfCurator implements Interop.Library {
    private static final int CONNECTION_TIMEOUT = 15_000;

    private final String servers;
    private final Map<Long, CuratorFramework> clients = new ConcurrentHashMap<>();

    OfCurator(String servers) {
        this.servers = servers;
    }

    private CuratorFramework client(long lease) {
        CuratorFramework client = CuratorFrameworkFactory.newClient(servers, (int) lease, CONNECTION_TIMEOUT, new RetryForever(100));
        client.start();
        return client;
    }

    @Override
    public Lock lock(String kind, long lease, String name) {
        InterProcessMutex lock = lock(clients.computeIfAbsent(lease, this::client), kind, name);
        return new Lock() {
            public boolean take(long wait) throws Exception {
                if (wait < 0) {
                    lock.acquire();
                    return true;
                }
                return lock.acquire(wait, TimeUnit.MILLISECONDS);
            }

            public void free() throws Exception {
                lock.release();
            }
        };
    }

    private static InterProcessMutex lock(CuratorFramework client, String kind, String name) {
        return switch (kind) {
            case "mutex" -> new InterProcessMutex(client, name);
            case "read" -> new InterProcessReadWriteLock(client, name).readLock();
            case "write" -> new InterProcessReadWriteLock(client, name).writeLock();
            default -> throw new IllegalArgumentException(kind);
        };
    }
}
