import com.hazelcast.cp.CPGroupId;
import com.hazelcast.cp.internal.datastructures.lock.AcquireResult;
import com.hazelcast.cp.internal.datastructures.lock.LockEndpoint;
import com.hazelcast.cp.internal.datastructures.lock.LockInvocationKey;
import com.hazelcast.cp.internal.datastructures.lock.LockService;
import com.hazelcast.cp.lock.FencedLock;
import com.hazelcast.spi.impl.NodeEngine;
import java.time.Instant;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Hazelcast's own locks of a CP member, which tells of each that was granted or freed. Hazelcast
 * calls these methods when it applies an operation of a group's log, one after the other.
 */
public final class ToldLocks extends LockService {
    static final Account ACCOUNT = new Account();

    /** The fence of each lock's holder, by what was told last. */
    private final Map<CPGroupId, Map<String, Long>> fences = new ConcurrentHashMap<>();

    public ToldLocks(NodeEngine engine) {
        super(engine);
    }

    @Override
    public AcquireResult acquire(CPGroupId group, String lock, LockInvocationKey key, long timeout) {
        fences.computeIfAbsent(group, none -> new ConcurrentHashMap<>()).putIfAbsent(lock, FencedLock.INVALID_FENCE);
        try {
            return super.acquire(group, lock, key, timeout);
        } finally {
            tell(group);
        }
    }

    @Override
    public boolean release(CPGroupId group, long index, String lock, LockEndpoint endpoint, UUID invocation) {
        try {
            return super.release(group, index, lock, endpoint, invocation);
        } finally {
            tell(group);
        }
    }

    /** Tells of those locks of a group that have another holder than before. */
    void tell(CPGroupId group) {
        fences.getOrDefault(group, Map.of()).replaceAll((lock, before) -> {
            long now = getLockOwnershipState(group, lock).getFence();
            if (now != before && before != FencedLock.INVALID_FENCE) {
                tell("ended", lock, before);
            }
            if (now != before && now != FencedLock.INVALID_FENCE) {
                tell("granted", lock, now);
            }
            return now;
        });
    }

    private static void tell(String kind, String lock, long fence) {
        Instant at = Instant.now();
        ACCOUNT.tell(kind + " " + (at.getEpochSecond() * 1_000_000_000L + at.getNano()) + " " + lock + " " + fence);
    }
}
