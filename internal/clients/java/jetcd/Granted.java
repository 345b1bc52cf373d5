import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.lock.LockResponse;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.support.CloseableClient;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import static java.nio.charset.StandardCharsets.UTF_8;

/** A Lock of jetcd that was granted, with a lease of its own, which keepAlive renews. */
final class Granted {
    private static final GetOption QUEUE = GetOption.builder().isPrefix(true)
        .withSortField(GetOption.SortTarget.CREATE).withSortOrder(GetOption.SortOrder.ASCEND).build();

    private final Client client;
    private final Renewal renewal = new Renewal();
    private final CloseableClient renewed;
    private ByteSequence key;

    final long lease;
    /** The revision at which etcd granted the lock, which comes with the answer. */
    long header;
    /** The create revision of the key, which does not: it is read from the key. */
    long revision;

    private Granted(Client client, long lease) {
        this.client = client;
        this.lease = lease;
        renewed = client.getLeaseClient().keepAlive(lease, renewal);
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

    /** Returns when an attempt is done, or waits behind another one, and reports whether it waits: jetcd has no attempt that does not wait. */
    private boolean waits(String name, CompletableFuture<LockResponse> attempt) throws Exception {
        ByteSequence own = bytes(name + "/" + Long.toHexString(lease));
        while (!attempt.isDone()) {
            List<ByteSequence> queue = client.getKVClient().get(bytes(name + "/"), QUEUE).get().getKvs().stream().map(KeyValue::getKey).toList();
            if (queue.contains(own) && !queue.get(0).equals(own)) {
                return true;
            }
            if (over()) { // the attempt is then never done
                throw new IllegalStateException("its lease has ended before the grant");
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
        return renewal.over();
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
        renewed.close();
        return client.getLeaseClient().revoke(lease).handle((done, err) -> {
            if (err != null && Status.fromThrowable(err).getCode() != Status.Code.NOT_FOUND) { // else it has ended by itself
                throw new CompletionException(err);
            }
            return done;
        });
    }

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, UTF_8);
    }
}
