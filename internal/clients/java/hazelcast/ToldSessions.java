import com.hazelcast.cp.CPGroupId;
import com.hazelcast.cp.internal.datastructures.lock.LockService;
import com.hazelcast.cp.internal.session.RaftSessionService;
import com.hazelcast.internal.util.BiTuple;
import com.hazelcast.spi.impl.NodeEngine;
import java.util.Collection;

/** Hazelcast's own sessions of a CP member: with a session end the locks that were taken in it. */
public final class ToldSessions extends RaftSessionService {
    private final NodeEngine engine;

    public ToldSessions(NodeEngine engine) {
        super(engine);
        this.engine = engine;
    }

    @Override
    public void expireSessions(CPGroupId group, Collection<BiTuple<Long, Long>> sessions) {
        super.expireSessions(group, sessions);
        tell(group);
    }

    @Override
    public boolean closeSession(CPGroupId group, long session) {
        boolean closed = super.closeSession(group, session);
        tell(group);
        return closed;
    }

    @Override
    public void closeInactiveSessions(CPGroupId group, Collection<Long> sessions) {
        super.closeInactiveSessions(group, sessions);
        tell(group);
    }

    private void tell(CPGroupId group) {
        engine.<ToldLocks>getService(LockService.SERVICE_NAME).tell(group);
    }
}
