import java.util.concurrent.TimeUnit;

/** A lock by the interface of java.util.concurrent. */
class Standard implements Lock {
    private final java.util.concurrent.locks.Lock lock;

    Standard(java.util.concurrent.locks.Lock lock) {
        this.lock = lock;
    }

    public boolean take(long wait) throws InterruptedException {
        if (wait < 0) {
            lock.lock();
            return true;
        }
        return wait == 0 ? lock.tryLock() : lock.tryLock(wait, TimeUnit.MILLISECONDS);
    }

    public void free() {
        lock.unlock();
    }
}
