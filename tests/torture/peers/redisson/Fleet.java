import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A fleet of threads that take locks through Redisson, for the torture. Each hold writes a history of
 * its own: FILE "HOST-COUNTER.h" with the lines enter, beat, leave, and released or failed, each with
 * the time (CLOCK_BOOTTIME, ns) at which it was true. Ends when stdin does.
 */
public final class Fleet {
  private static final String USAGE =
      "usage: redisson --redis URL --history DIR --host NAME --threads N [--clock-offset NS] LOCK...\n"
          + "LOCK: plain:NAME fair:NAME read:NAME write:NAME permits:N:NAME";
  private static final long WATCHDOG_MS = 6000;
  private static final double TRUSTED = 0.8; // so much of a lease is worked in
  private static final long BEAT_MS = 5;
  private static final long TIME_TO_END_MS = 3000; // for the turns, and once more
  private static final long PAUSE_AFTER_FAILURE_MS = 100;

  private static String redis;
  private static String host;
  private static Path history;
  private static int threads;
  private static long clockOffset; // CLOCK_BOOTTIME less CLOCK_MONOTONIC, ns
  private static final List<Target> TARGETS = new ArrayList<>();
  private static final AtomicLong HOLDS = new AtomicLong();
  private static final AtomicLong REFUSALS = new AtomicLong();
  private static final Map<String, Long> FAILURES = new TreeMap<>();
  private static volatile boolean isOver;

  /** What is locked: a kind, a name, and how many permits it has. */
  private record Target(String kind, String name, int permits) {}

  /** What a thread got, and how it is given back. */
  private interface Grant {
    String owner();

    void release();
  }

  private Fleet() {}

  public static void main(String[] args) throws Exception {
    parse(args);
    final RedissonClient redisson = connect();
    final List<Member> members = new ArrayList<>();
    for (int i = 0; redisson != null && i < threads; ++i) members.add(new Member(redisson, i));
    members.forEach(Thread::start);
    while (!isOver) Thread.sleep(20);
    join(members);
    members.forEach(Member::stopWaiting);
    join(members);
    synchronized (FAILURES) {
      System.err.printf(
          "redisson %s: %d holds, %d not granted, failures %s%n", host, HOLDS.get(), REFUSALS.get(), FAILURES);
    }
    if (redisson != null) redisson.shutdown(0, 1, TimeUnit.SECONDS);
    System.exit(0);
  }

  private static void join(List<Member> members) throws InterruptedException {
    final long end = System.nanoTime() + TIME_TO_END_MS * 1_000_000;
    for (Member member : members) member.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
  }

  private static void parse(String[] args) {
    try {
      for (int i = 0; i < args.length; ++i) {
        switch (args[i]) {
          case "--redis" -> redis = args[++i];
          case "--history" -> history = Path.of(args[++i]);
          case "--host" -> host = args[++i];
          case "--threads" -> threads = Integer.parseInt(args[++i]);
          case "--clock-offset" -> clockOffset = Long.parseLong(args[++i]);
          default -> TARGETS.add(target(args[i]));
        }
      }
      if (redis != null && history != null && host != null && threads > 0 && !TARGETS.isEmpty()) return;
    } catch (RuntimeException e) {
      System.err.println(e);
    }
    System.err.println(USAGE);
    System.exit(64);
  }

  private static Target target(String text) {
    final String[] parts = text.split(":", 2);
    switch (parts[0]) {
      case "plain", "fair", "read", "write":
        return new Target(parts[0], parts[1], 0);
      case "permits":
        final String[] number = parts[1].split(":", 2);
        return new Target(parts[0], number[1], Integer.parseInt(number[0]));
      default:
        throw new IllegalArgumentException(text);
    }
  }

  /** Returns nothing if stdin ends before there is a server. */
  private static RedissonClient connect() throws InterruptedException {
    final Thread listener =
        new Thread(
            () -> {
              try {
                while (System.in.read() != -1) {}
              } catch (IOException e) {
                // then it is over, too
              }
              isOver = true;
            });
    listener.setDaemon(true);
    listener.start();
    while (!isOver) {
      RedissonClient redisson = null;
      try {
        redisson = Redisson.create(config());
        for (Target target : TARGETS) {
          if (target.permits() == 0) continue;
          redisson.getPermitExpirableSemaphore(target.name()).trySetPermits(target.permits());
        }
        return redisson;
      } catch (RuntimeException e) {
        count(e);
        if (redisson != null) redisson.shutdown(0, 1, TimeUnit.SECONDS);
        Thread.sleep(PAUSE_AFTER_FAILURE_MS);
      }
    }
    return null;
  }

  private static Config config() {
    final Config config = new Config();
    config.setThreads(4).setNettyThreads(2).setLockWatchdogTimeout(WATCHDOG_MS);
    config
        .useSingleServer()
        .setAddress(redis)
        .setConnectionMinimumIdleSize(2)
        .setConnectionPoolSize(threads + 2)
        .setSubscriptionConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionPoolSize(threads + 2)
        .setSubscriptionsPerConnection(50);
    return config;
  }

  private static void count(Throwable failure) {
    synchronized (FAILURES) {
      FAILURES.merge(failure.getClass().getSimpleName(), 1L, Long::sum);
    }
  }

  private static long now() {
    return System.nanoTime() + clockOffset;
  }

  /** One thread of the fleet. */
  private static final class Member extends Thread {
    private final RedissonClient redisson;
    private final Random random;
    private boolean mayInterrupt; // with the monitor
    private boolean wasStopped;

    Member(RedissonClient redisson, int number) {
      super("fleet-" + number);
      this.redisson = redisson;
      this.random = new Random(31L * host.hashCode() + number);
    }

    /** Ends a wait for a lock, and no hold. */
    synchronized void stopWaiting() {
      wasStopped = true;
      if (mayInterrupt) interrupt();
    }

    private synchronized void setWaiting(boolean waits) throws InterruptedException {
      mayInterrupt = waits;
      if (waits && wasStopped) throw new InterruptedException();
      if (!waits) Thread.interrupted();
    }

    @Override
    public void run() {
      while (!isOver) {
        try {
          turn();
          Thread.sleep(random.nextInt(31));
        } catch (InterruptedException e) {
          return;
        } catch (IOException e) {
          System.err.println("redisson " + host + ": " + e);
          System.exit(70);
        } catch (Exception e) {
          count(e);
          pause();
        }
      }
    }

    private void pause() {
      try {
        Thread.sleep(PAUSE_AFTER_FAILURE_MS);
      } catch (InterruptedException e) {
        interrupt();
      }
    }

    private void turn() throws Exception {
      final Target target = TARGETS.get(random.nextInt(TARGETS.size()));
      // A permit without a lease would never end if this process is killed.
      final boolean hasWatchdog = target.permits() == 0 && random.nextBoolean();
      final long leaseMs = hasWatchdog ? -1 : 2000 + random.nextInt(3001);
      final long called = now();
      final Grant grant;
      setWaiting(true);
      try {
        grant = take(target, 5000 + random.nextInt(10_001), leaseMs);
      } finally {
        setWaiting(false);
      }
      if (grant == null) {
        REFUSALS.incrementAndGet();
        return;
      }
      hold(target, grant, called, leaseMs);
    }

    /** Returns nothing if the time is over. */
    private Grant take(Target target, long waitMs, long leaseMs) throws InterruptedException {
      if (target.permits() > 0) return takePermit(target.name(), waitMs, leaseMs);
      final RLock lock = lock(target);
      if (!lock.tryLock(waitMs, leaseMs, TimeUnit.MILLISECONDS)) return null;
      final String owner = redisson.getId() + ":" + Thread.currentThread().getId();
      return new Grant() {
        @Override
        public String owner() {
          return owner;
        }

        @Override
        public void release() {
          lock.unlock();
        }
      };
    }

    private Grant takePermit(String name, long waitMs, long leaseMs) throws InterruptedException {
      final RPermitExpirableSemaphore semaphore = redisson.getPermitExpirableSemaphore(name);
      final String permit = semaphore.tryAcquire(waitMs, leaseMs, TimeUnit.MILLISECONDS);
      if (permit == null) return null;
      return new Grant() {
        @Override
        public String owner() {
          return permit;
        }

        @Override
        public void release() {
          semaphore.release(permit);
        }
      };
    }

    private RLock lock(Target target) {
      return switch (target.kind()) {
        case "fair" -> redisson.getFairLock(target.name());
        case "read" -> redisson.getReadWriteLock(target.name()).readLock();
        case "write" -> redisson.getReadWriteLock(target.name()).writeLock();
        default -> redisson.getLock(target.name());
      };
    }

    private void hold(Target target, Grant grant, long called, long leaseMs)
        throws IOException, InterruptedException {
      final long begin = now();
      final long lease = leaseMs == -1 ? WATCHDOG_MS : leaseMs;
      final long deadline = begin + (long) (lease * TRUSTED) * 1_000_000;
      final Path path = history.resolve(host + "-" + HOLDS.incrementAndGet() + ".h");
      try (FileOutputStream file = new FileOutputStream(path.toFile())) {
        write(
            file,
            String.format(
                "enter %d lock=%s kind=%s by=redisson host=%s owner=%s called=%d",
                begin, target.name(), target.kind(), host, grant.owner(), called));
        work(file, target, leaseMs, begin, deadline);
        // After a stop, the work has ended when the lease allowed no more of it.
        write(file, "leave " + Math.min(now(), deadline));
        try {
          grant.release();
          write(file, "released " + now());
        } catch (RuntimeException e) {
          count(e);
          write(file, "failed " + now() + " " + String.valueOf(e).replaceAll("\\s+", " "));
        }
      }
    }

    private void work(FileOutputStream file, Target target, long leaseMs, long begin, long deadline)
        throws IOException, InterruptedException {
      final int lengthMs =
          isOver ? 0 : random.nextInt(10) == 0 ? 300 + random.nextInt(901) : 5 + random.nextInt(56);
      final long end = begin + lengthMs * 1_000_000L;
      final boolean nests = target.permits() == 0 && random.nextInt(8) == 0;
      final long beginOfNested = begin + lengthMs * 250_000L;
      final long endOfNested = begin + lengthMs * 750_000L;
      Grant nested = null;
      boolean hasNested = false;
      for (long now = begin; now < Math.min(end, deadline); now = now()) {
        if (now > begin) write(file, "beat " + now);
        if (nests && !hasNested && now >= beginOfNested) {
          hasNested = true;
          nested = attempt(target, leaseMs);
        }
        if (nested != null && now >= endOfNested) nested = giveBack(nested);
        Thread.sleep(BEAT_MS);
      }
      giveBack(nested);
    }

    // A failure of a nested take or release is no reason to end the outer hold.
    private Grant attempt(Target target, long leaseMs) throws InterruptedException {
      try {
        return take(target, 0, leaseMs);
      } catch (RuntimeException e) {
        count(e);
        return null;
      }
    }

    private Grant giveBack(Grant nested) {
      try {
        if (nested != null) nested.release();
      } catch (RuntimeException e) {
        count(e);
      }
      return null;
    }

    // In one write, so that a line is whole whenever this process is killed.
    private static void write(FileOutputStream file, String line) throws IOException {
      file.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    }
  }
}
