import com.hazelcast.config.Config;
import com.hazelcast.config.ConfigAccessor;
import com.hazelcast.config.ServiceConfig;
import com.hazelcast.config.cp.CPSubsystemConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.cp.internal.datastructures.lock.LockService;
import com.hazelcast.cp.internal.session.RaftSessionService;
import com.hazelcast.instance.impl.HazelcastInstanceProxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A member of a Hazelcast whose CP subsystem has all members, with an account of its locks.
 * Its arguments are the time to live of a session in seconds, the port of the account, and the
 * ports of all members on 127.0.0.1, its own first. The port of the account is open when the member
 * has joined those that are there, and its first line comes when the CP subsystem has all of them.
 */
public final class Member {
    static final String CLUSTER = "fencelab";
    private static final String HERE = "127.0.0.1";

    /** What makes it a small member which starts at once, and speaks with nobody else. */
    private static final Map<String, String> PROPERTIES = Map.ofEntries(
        Map.entry("hazelcast.phone.home.enabled", "false"),
        Map.entry("hazelcast.logging.type", "jdk"),
        Map.entry("hazelcast.wait.seconds.before.join", "0"),
        Map.entry("hazelcast.socket.bind.any", "false"),
        Map.entry("hazelcast.partition.count", "7"),
        Map.entry("hazelcast.operation.thread.count", "2"),
        Map.entry("hazelcast.operation.generic.thread.count", "2"),
        Map.entry("hazelcast.io.thread.count", "1"),
        Map.entry("hazelcast.heartbeat.interval.seconds", "1"),
        Map.entry("hazelcast.max.no.heartbeat.seconds", "15"));

    private Member() {
    }

    public static void main(String[] arguments) throws Exception {
        Logger quiet = Logger.getLogger("com.hazelcast"); // kept: else its level is forgotten
        quiet.setLevel(Level.SEVERE);
        List<Integer> ports = Arrays.stream(arguments).skip(2).map(Integer::valueOf).toList();
        HazelcastInstance member = Hazelcast.newHazelcastInstance(config(Integer.parseInt(arguments[0]), ports));
        ToldLocks.ACCOUNT.serve(new ServerSocket(Integer.parseInt(arguments[1]), 0, InetAddress.getByName(HERE)));
        member.getCPSubsystem().getCPSubsystemManagementService().awaitUntilDiscoveryCompleted(Long.MAX_VALUE, TimeUnit.SECONDS);
        member.getCPSubsystem().getLock("fencelab"); // so the group of all locks is there
        UUID cluster = ((HazelcastInstanceProxy) member).getOriginal().node.getClusterService().getClusterId();
        ToldLocks.ACCOUNT.begin("member " + HERE + ":" + ports.get(0) + " " + shorten(cluster));
    }

    /** What tenures are called after: another cluster counts its fences from the beginning. */
    static String shorten(UUID cluster) {
        return cluster.toString().substring(0, 8);
    }

    private static Config config(int session, List<Integer> ports) {
        Config config = new Config().setClusterName(CLUSTER);
        PROPERTIES.forEach(config::setProperty);
        config.getMetricsConfig().setEnabled(false);
        config.getNetworkConfig().setPort(ports.get(0)).setPortAutoIncrement(false).getInterfaces().setEnabled(true).addInterface(HERE);
        config.getNetworkConfig().getJoin().getAutoDetectionConfig().setEnabled(false);
        config.getNetworkConfig().getJoin().getMulticastConfig().setEnabled(false);
        config.getNetworkConfig().getJoin().getTcpIpConfig().setEnabled(true)
            .setMembers(ports.stream().map(port -> HERE + ":" + port).toList());
        CPSubsystemConfig cp = config.getCPSubsystemConfig().setCPMemberCount(ports.size())
            .setSessionTimeToLiveSeconds(session).setSessionHeartbeatIntervalSeconds(1);
        cp.getRaftAlgorithmConfig().setLeaderElectionTimeoutInMillis(500).setLeaderHeartbeatPeriodInMillis(500)
            .setMaxMissedLeaderHeartbeatCount(4).setCommitIndexAdvanceCountToSnapshot(1_000_000);
        ConfigAccessor.getServicesConfig(config)
            .addServiceConfig(new ServiceConfig().setEnabled(true).setName(LockService.SERVICE_NAME).setClassName(ToldLocks.class.getName()))
            .addServiceConfig(new ServiceConfig().setEnabled(true).setName(RaftSessionService.SERVICE_NAME).setClassName(ToldSessions.class.getName()));
        return config;
    }
}
