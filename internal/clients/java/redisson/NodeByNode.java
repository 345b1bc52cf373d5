import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.redisson.Redisson;
import org.redisson.RedissonLock;
import org.redisson.api.RLock;

/** A lock of nodes that know nothing of one another: a RLock with a lease on each, of a client each, which Redisson makes one lock of. */
class NodeByNode implements Locks {
    private final List<Redisson> nodes;
    private final Function<RLock[], RLock> one;
    private final long lease; // ms

    NodeByNode(List<Redisson> nodes, Function<RLock[], RLock> one, long lease) {
        this.nodes = nodes;
        this.one = one;
        this.lease = lease;
    }

    @Override
    public void reach() {
        nodes.forEach(node -> node.getKeys().countExists("fencelab"));
    }

    @Override
    public void close() {
        nodes.forEach(node -> node.shutdown(0, 1, TimeUnit.SECONDS));
    }

    @Override
    public Tenure lock(String name, Duration within) throws InterruptedException {
        RLock lock = one.apply(nodes.stream().map(node -> new Named(node, name)).toArray(RLock[]::new));
        return take(lock, within) ? new Owned(lock, owner(Thread.currentThread().getId())) : null;
    }

    boolean take(RLock lock, Duration within) throws InterruptedException {
        return lock.tryLock(within.toMillis(), lease, TimeUnit.MILLISECONDS);
    }

    @Override
    public String refusal() {
        return "too few of the nodes gave it the lock";
    }

    private String owner(long thread) {
        return nodes.get(0).getId() + ":" + thread;
    }

    /**
     * A RLock whose holder has the same name on each node, so that gcsim's account sees one holder.
     * Each client of Redisson has an ID of its own, and so each node another name for the holder.
     */
    private final class Named extends RedissonLock {
        Named(Redisson node, String name) {
            super(node.getCommandExecutor(), name);
        }

        @Override
        protected String getLockName(long thread) {
            return owner(thread);
        }
    }

    private record Owned(RLock lock, String name) implements Tenure {
        /** Is always true: isHeldByCurrentThread asks for the lock on all nodes, and says no where a majority has it. */
        @Override
        public boolean held() {
            return true;
        }

        @Override
        public void unlock() {
            lock.unlock();
        }
    }
}
