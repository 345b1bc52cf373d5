import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.client.impl.clientside.HazelcastClientProxy;
import com.hazelcast.client.impl.connection.ClientConnection;
import com.hazelcast.client.impl.connection.tcp.TcpClientConnection;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.cp.lock.FencedLock;
import com.hazelcast.cp.lock.exception.LockOwnershipLostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A client with the FencedLock of Hazelcast. The TTL is that of its session, which the members choose. */
public final class Peer implements Locks {
    private final HazelcastInstance client;

    private Peer(Fields arguments) {
        if (!arguments.text("by").equals("hazelcast")) {
            throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has the lock of Hazelcast");
        }
        ClientConfig config = new ClientConfig().setClusterName(Member.CLUSTER);
        // It knows the members by the addresses that it is told, and by no others, and speaks to the
        // first one that takes the connection.
        config.getNetworkConfig().setSmartRouting(false).setAddresses(List.of(arguments.text("endpoints").split(",")));
        config.setProperty("hazelcast.client.shuffle.member.list", "false");
        config.setProperty("hazelcast.client.internal.skip.member.list.during.reconnection", "true");
        config.setProperty("hazelcast.client.heartbeat.interval", "500");
        config.setProperty("hazelcast.client.heartbeat.timeout", Long.toString(arguments.time("timeout").toMillis()));
        config.setProperty("hazelcast.client.invocation.timeout.seconds", Long.toString(arguments.time("timeout").toSeconds()));
        config.setProperty("hazelcast.client.statistics.enabled", "false");
        config.setProperty("hazelcast.logging.type", "none");
        client = HazelcastClient.newHazelcastClient(config);
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::new);
    }

    @Override
    public void reach() {
        client.getCPSubsystem().getLock("fencelab").isLocked();
    }

    @Override
    public void close() {
        client.shutdown();
    }

    @Override
    public Tenure lock(String name, Duration within) {
        FencedLock lock = client.getCPSubsystem().getLock(name);
        long fence = lock.tryLockAndGetFence(within.toMillis(), TimeUnit.MILLISECONDS);
        return fence == FencedLock.INVALID_FENCE ? null : new Held(lock, fence);
    }

    /** Which Hazelcast it is connected to: one whose members were all gone is another one. */
    private String cluster() {
        ClientConnection connection = ((HazelcastClientProxy) client).client.getConnectionManager().getRandomConnection();
        return Member.shorten(((TcpClientConnection) connection).getClusterUuid());
    }

    /** A tenure: Hazelcast knows it by its fence. */
    private final class Held implements Tenure {
        private final FencedLock lock;
        private final long fence;
        private final String name;
        private LockOwnershipLostException lost; // Hazelcast throws it once

        Held(FencedLock lock, long fence) {
            this.lock = lock;
            this.fence = fence;
            name = cluster() + "-" + fence;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public long token() {
            return fence;
        }

        @Override
        public boolean held() {
            try {
                return lock.isLockedByCurrentThread();
            } catch (LockOwnershipLostException over) {
                lost = over;
                return false;
            }
        }

        @Override
        public void unlock() {
            if (lost != null) {
                throw lost;
            }
            lock.unlock();
        }

        @Override
        public boolean reenters() {
            return true;
        }

        @Override
        public Tenure again() {
            long fence = lock.tryLockAndGetFence();
            return fence == FencedLock.INVALID_FENCE ? null : new Held(lock, fence);
        }
    }
}
