import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.grpc.stub.StreamObserver;

/** Observes the renewals of a lease. */
final class Renewal implements StreamObserver<LeaseKeepAliveResponse> {
    private volatile boolean over;

    /** Reports whether it was told that the lease is over. */
    boolean over() {
        return over;
    }

    @Override
    public void onNext(LeaseKeepAliveResponse renewed) {
    }

    /** Is told of each connection that breaks, too: jetcd goes on with another. */
    @Override
    public void onError(Throwable err) {
        if (err instanceof EtcdException etcd && etcd.getErrorCode() == ErrorCode.NOT_FOUND) {
            over = true;
        }
    }

    /** Is told that no renewal was answered for the TTL. */
    @Override
    public void onCompleted() {
        over = true;
    }
}
