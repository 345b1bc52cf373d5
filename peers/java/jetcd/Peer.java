import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lock.LockResponse;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.support.CloseableClient;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import static java.nio.charset.StandardCharsets.UTF_8;

/** A client with the Lock of jetcd. Each tenure has a lease of its own, of the TTL, which keepAlive renews. */
public final class Peer implements Locks {
    private final Client client;
    private final Duration ttl, timeout;
    private final String token;

    private Peer(Arguments arguments) {
        if (!arguments.recipe().equals("jetcd")) {
            throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has the locks of jetcd");
        }
        ttl = arguments.time("ttl");
        timeout = arguments.time("timeout");
        token = arguments.text("token");
        client = Client.builder().endpoints(Arrays.stream(arguments.text("endpoints").split(",")).map(e -> "http://" + e).toArray(String[]::new)).build();
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::new);
    }

    @Override
    public void reach() throws Exception {
        answer(client.getKVClient().get(bytes("fencelab")));
    }

    @Override
    public void close() {
        client.close();
    }

    @Override
    public Tenure lock(String name, Duration within) throws Exception {
        Lease lease = new Lease(answer(client.getLeaseClient().grant(ttl.toSeconds())).getID());
        boolean granted = false;
        try {
            CompletableFuture<LockResponse> lock = client.getLockClient().lock(bytes(name), lease.id);
            if (within.isZero() && waits(name, lease, lock)) {
                return null;
            }
            LockResponse answer = lock.get((within.isZero() ? timeout : within).toNanos(), TimeUnit.NANOSECONDS);
            Held held = new Held(lease, answer);
            granted = true;
            return held;
        } catch (TimeoutException late) {
            return null;
        } finally {
            if (!granted) { // nothing but the end of its lease takes an attempt out of the queue
                answer(lease.end());
            }
        }
    }

    /** Returns when an attempt has its place in the queue, and reports whether another comes before it: jetcd has no attempt that does not wait. */
    private boolean waits(String name, Lease lease, CompletableFuture<LockResponse> attempt) throws Exception {
        ByteSequence prefix = bytes(name + "/"), own = bytes(name + "/" + Long.toHexString(lease.id));
        GetOption inOrder = GetOption.builder().isPrefix(true).withSortField(GetOption.SortTarget.CREATE).withSortOrder(GetOption.SortOrder.ASCEND).build();
        while (!attempt.isDone()) {
            List<ByteSequence> queue = answer(client.getKVClient().get(prefix, inOrder)).getKvs().stream().map(KeyValue::getKey).toList();
            if (queue.contains(own)) {
                return !queue.get(0).equals(own);
            }
        }
        return false;
    }

    private <T> T answer(CompletableFuture<T> asked) throws Exception {
        return asked.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    }

    private static ByteSequence bytes(String text) {
        return ByteSequence.from(text, UTF_8);
    }

    /** A lease that is renewed until it ends. */
    private final class Lease implements StreamObserver<LeaseKeepAliveResponse> {
        final long id;
        volatile boolean over;
        private final CloseableClient renewal;

        Lease(long id) {
            this.id = id;
            renewal = client.getLeaseClient().keepAlive(id, this);
        }

        CompletableFuture<?> end() {
            renewal.close();
            return client.getLeaseClient().revoke(id);
        }

        @Override
        public void onNext(LeaseKeepAliveResponse renewed) {
        }

        /** Is told of each connection that breaks, too: jetcd goes on with another. */
        @Override
        public void onError(Throwable err) {
            over |= err instanceof EtcdException etcd && etcd.getErrorCode() == ErrorCode.NOT_FOUND;
        }

        /** Is told that no renewal was answered for the TTL. */
        @Override
        public void onCompleted() {
            over = true;
        }
    }

    /** A tenure: its key, which etcd knows by the create revision as well. The answer has no token; the create revision is read from the key. */
    private final class Held implements Tenure {
        private final Lease lease;
        private final ByteSequence key;
        private final long revision, header;

        Held(Lease lease, LockResponse granted) throws Exception {
            this.lease = lease;
            key = granted.getKey();
            header = granted.getHeader().getRevision();
            List<KeyValue> found = answer(client.getKVClient().get(key)).getKvs();
            if (found.isEmpty()) {
                throw new IllegalStateException("the lease has ended since the grant");
            }
            revision = found.get(0).getCreateRevision();
        }

        @Override
        public String name() {
            return key.toString(UTF_8) + "@" + revision;
        }

        @Override
        public long token() {
            return switch (token) {
                case "header" -> header;
                case "lease" -> lease.id;
                default -> revision;
            };
        }

        @Override
        public boolean held() {
            return !lease.over;
        }

        /** Returns also where the key has gone with its lease: jetcd says nothing of that. */
        @Override
        public void unlock() throws Exception {
            try {
                answer(client.getLockClient().unlock(key));
            } finally {
                lease.end();
            }
        }
    }
}
