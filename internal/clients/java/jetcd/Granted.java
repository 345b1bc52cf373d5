import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lock.LockResponse;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.support.CloseableClient;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import static java.nio.charset.StandardCharsets.UTF_8;

/** A Lock of jetcd that was granted, with a lease of its own, which keepAlive renews. It observes the renewals. */
final class Granted implements StreamObserver<LeaseKeepAliveResponse> {
    private static final GetOption QUEUE = GetOption.builder().isPrefix(true)
        .withSortField(GetOption.SortTarget.CREATE).withSortOrder(GetOption.SortOrder.ASCEND).build();

    private final Client client;
    private final CloseableClient renewal;
    private ByteSequence key;
    private volatile boolean over;

    final long lease;
    /** The revision at which etcd granted the lock, which comes with the answer. */
    long header;
    /** The create revision of the key, which does not: it is read from the key. */
    long revision;

    private Granted(Client client, long lease) {
        this.client = client;
        this.lease = lease;
        renewal = client.getLeaseClient().keepAlive(lease, this);
    }

    /** Waits for a lock for so long at most, for ever if that is negative; zero takes it if it is free. null: it was not granted. */
    static Granted take(Client client, String name, Duration ttl, Duration within) throws Exception {
        Granted granted = new Granted(client, client.getLeaseClient().grant(ttl.toSeconds()).get().getID());
        boolean holds = false;
        try {
            CompletableFuture<LockResponse> attempt = client.getLockClient().lock(bytes(name), granted.lease);
            if (within.isZero() && granted.waits(name, attempt)) {
                return null;
            }
            granted.read(within.compareTo(Duration.ZERO) > 0 ? attempt.get(within.toNanos(), TimeUnit.NANOSECONDS) : attempt.get());
            holds = true;
            return granted;
        } catch (TimeoutException late) {
            return null;
        } finally {
            if (!holds) { // nothing but the end of its lease takes an attempt out of the queue
                granted.end().get();
            }
        }
    }

    /** Returns when an attempt has its place in the queue, and reports whether another comes before it: jetcd has no attempt that does not wait. */
    private boolean waits(String name, CompletableFuture<LockResponse> attempt) throws Exception {
        ByteSequence own = bytes(name + "/" + Long.toHexString(lease));
        while (!attempt.isDone()) {
            List<ByteSequence> queue = client.getKVClient().get(bytes(name + "/"), QUEUE).get().getKvs().stream().map(KeyValue::getKey).toList();
            if (queue.contains(own)) {
                return !queue.get(0).equals(own);
            }
        }
        return false;
    }

    private void read(LockResponse answer) throws Exception {
        key = answer.getKey();
        header = answer.getHeader().getRevision();
        List<KeyValue> found = client.getKVClient().get(key).get().getKvs();
        if (found.isEmpty()) {
            throw new IllegalStateException("its lease has ended since the grant");
        }
        revision = found.get(0).getCreateRevision();
    }

    String key() {
        return key.toString(UTF_8);
    }

    /** Reports whether it was told that the lease is over. */
    boolean over() {
        return over;
    }

    /** Returns also where the key has gone with its lease: jetcd says nothing of that. */
    void unlock() throws Exception {
        try {
            client.getLockClient().unlock(key).get();
        } finally {
            end();
        }
    }

    /** Ends the lease, and with it the key. */
    private CompletableFuture<?> end() {
        renewal.close();
        return client.getLeaseClient().revoke(lease).handle((done, err) -> {
            if (err != null && Status.fromThrowable(err).getCode() != Status.Code.NOT_FOUND) { // else it has ended by itself
                throw new CompletionException(err);
            }
            return done;
        });
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

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, UTF_8);
    }
}
