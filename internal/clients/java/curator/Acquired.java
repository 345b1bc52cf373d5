import java.util.function.BooleanSupplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.curator.utils.ZKPaths;

/** A tenure: ZooKeeper knows it by its node. Its token is the number of the transaction that created the node. */
final class Acquired implements Locks.Tenure, ConnectionStateListener {
    /** Gives a lock back. */
    interface Release {
        void run() throws Exception;
    }

    private final CuratorFramework client;
    private final boolean obeysSuspended;
    private final Release release;
    private final BooleanSupplier acquired; // null: there is no such question
    private final String name;
    private final long czxid;
    private volatile boolean over;

    Acquired(CuratorFramework client, boolean obeysSuspended, Release release, BooleanSupplier acquired, String node, long czxid) {
        this.client = client;
        this.obeysSuspended = obeysSuspended;
        this.release = release;
        this.acquired = acquired;
        this.czxid = czxid;
        name = ZKPaths.getNodeFromPath(node);
        client.getConnectionStateListenable().addListener(this);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public long token() {
        return czxid;
    }

    @Override
    public void stateChanged(CuratorFramework client, ConnectionState state) {
        over |= state == ConnectionState.LOST || state == ConnectionState.SUSPENDED && obeysSuspended;
    }

    @Override
    public boolean held() {
        return !over;
    }

    @Override
    public Boolean told() {
        return over;
    }

    @Override
    public boolean seems(String look) {
        return look.equals("acquired") && acquired != null ? acquired.getAsBoolean() : Locks.Tenure.super.seems(look);
    }

    /** Returns also where the node has gone with its session: Curator says nothing of that. */
    @Override
    public void unlock() throws Exception {
        client.getConnectionStateListenable().removeListener(this);
        release.run();
    }
}
