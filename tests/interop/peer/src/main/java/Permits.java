import java.util.concurrent.TimeUnit;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;

/** What a thread does to semaphores. It has one permit at a time. */
final class Permits {
  private static final String RUNNING = "running"; // how many have a permit now

  private final RedissonClient redisson;
  private String permit;

  Permits(RedissonClient redisson) {
    this.redisson = redisson;
  }

  /** Answers COMMAND with numbers, as Peer does for locks. A lease of -1 never ends. */
  Object run(String command, String name, long[] numbers) throws InterruptedException {
    RPermitExpirableSemaphore semaphore = redisson.getPermitExpirableSemaphore(name);
    switch (command) {
      case "lock":
        acquire(semaphore, numbers[0]);
        return true;
      case "tryLock":
        permit = semaphore.tryAcquire();
        return permit != null;
      case "unlock":
        semaphore.release(permit);
        return true;
      case "permit":
        return permit;
      case "available":
        return semaphore.availablePermits();
      case "trySetPermits":
        return semaphore.trySetPermits((int) numbers[0]);
      case "updateLeaseTime":
        return semaphore.updateLeaseTime(permit, numbers[0], TimeUnit.MILLISECONDS);
      case "work":
        return work(semaphore, numbers[0]);
      default:
        throw new IllegalArgumentException(command);
    }
  }

  private void acquire(RPermitExpirableSemaphore semaphore, long leaseMs)
      throws InterruptedException {
    permit =
        leaseMs == -1
            ? semaphore.acquire()
            : semaphore.acquire(leaseMs, TimeUnit.MILLISECONDS);
  }

  // Returns how many had a permit at once, at the most.
  private long work(RPermitExpirableSemaphore semaphore, long times) throws InterruptedException {
    RAtomicLong running = redisson.getAtomicLong(RUNNING);
    long most = 0;
    for (long i = 0; i < times; ++i) {
      acquire(semaphore, 600_000);
      most = Math.max(most, running.incrementAndGet());
      running.decrementAndGet();
      semaphore.release(permit);
    }
    return most;
  }
}
