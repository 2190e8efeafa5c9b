import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;
import org.redisson.config.SentinelServersConfig;
import org.redisson.config.SubscriptionMode;

/**
 * A Redisson client that is driven by lines, so that tests in another language can have one.
 *
 * <p>Arguments: address of the server (redis://h:p, or redis-sentinel://h:p,...#master or
 * redis-cluster://h:p,...), lockWatchdogTimeout (ms), fairLockWaitTimeout (ms; set where
 * this Redisson has it). Says "ready UUID HAS_FAIR_WAIT" when it is connected, then answers each line
 * {@code ID THREAD COMMAND [KIND NAME [NUMBER...]]} by {@code ID ok VALUE} or
 * {@code ID error CLASS MESSAGE}; names and messages are percent-encoded. Lines for one THREAD (any
 * word) run in turn on a real thread, since Redisson's owner is UUID:thread id; several threads run
 * side by side. It ends, as if killed, with the end of its input.
 */
public final class Peer {
  private static final PrintStream OUT = System.out;
  private static final String FAIR_WAIT = "setFairLockWaitTimeout";
  private static final String SENTINEL = "redis-sentinel://";
  private static final String CLUSTER = "redis-cluster://";
  private static final int SCAN_INTERVAL_MS = 500; // how soon a failover is noticed

  private final RedissonClient redisson;
  private final Map<String, Worker> workers = new HashMap<>();

  private Peer(RedissonClient redisson) {
    this.redisson = redisson;
  }

  public static void main(String[] args) throws IOException {
    Peer peer = new Peer(Redisson.create(config(args[0], args[1], args[2])));
    say("ready " + peer.redisson.getId() + " " + hasFairWait());
    peer.serve();
    // A shutdown would tidy up, which a process that is gone cannot.
    Runtime.getRuntime().halt(0);
  }

  private static Config config(String address, String watchdogMs, String fairWaitMs) {
    Config config = new Config();
    config.setThreads(4).setNettyThreads(2).setLockWatchdogTimeout(Long.parseLong(watchdogMs));
    if (hasFairWait()) {
      try {
        Config.class.getMethod(FAIR_WAIT, long.class).invoke(config, Long.parseLong(fairWaitMs));
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(e);
      }
    }
    if (address.startsWith(SENTINEL)) {
      useSentinels(config, address.substring(SENTINEL.length()));
    } else if (address.startsWith(CLUSTER)) {
      useCluster(config, address.substring(CLUSTER.length()));
    } else {
      useServer(config, address);
    }
    return config;
  }

  private static void useSentinels(Config config, String hostsAndMaster) {
    String[] parts = hostsAndMaster.split("#");
    SentinelServersConfig sentinels = config.useSentinelServers().setMasterName(parts[1]);
    for (String host : parts[0].split(",")) {
      sentinels.addSentinelAddress("redis://" + host);
    }
    sentinels.setScanInterval(SCAN_INTERVAL_MS);
    limit(sentinels);
  }

  private static void useCluster(Config config, String hosts) {
    ClusterServersConfig cluster = config.useClusterServers();
    for (String host : hosts.split(",")) {
      cluster.addNodeAddress("redis://" + host);
    }
    cluster.setScanInterval(SCAN_INTERVAL_MS);
    limit(cluster);
  }

  // Locks are the masters' matter.
  private static void limit(BaseMasterSlaveServersConfig<?> servers) {
    servers.setReadMode(ReadMode.MASTER);
    servers.setSubscriptionMode(SubscriptionMode.MASTER);
    servers.setMasterConnectionMinimumIdleSize(2);
    servers.setMasterConnectionPoolSize(8);
    servers.setSubscriptionConnectionMinimumIdleSize(1);
    servers.setSubscriptionConnectionPoolSize(8);
  }

  private static void useServer(Config config, String address) {
    config.useSingleServer()
        .setAddress(address)
        .setConnectionMinimumIdleSize(2)
        .setConnectionPoolSize(8)
        .setSubscriptionConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionPoolSize(4)
        .setSubscriptionsPerConnection(1000); // each waiter of a fair lock has one
  }

  // Before 3.46 it is always five minutes.
  private static boolean hasFairWait() {
    return Arrays.stream(Config.class.getMethods()).anyMatch(m -> m.getName().equals(FAIR_WAIT));
  }

  private void serve() throws IOException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      if (words[2].equals("asleep")) {
        say(words[0] + " ok " + workers.values().stream().filter(Peer::isAsleep).count());
        continue;
      }
      Worker worker = workers.computeIfAbsent(words[1], name -> new Worker(name));
      if (words[2].equals("interrupt")) {
        worker.interrupt();
        say(words[0] + " ok true");
      } else if (words[2].equals("owner")) {
        say(words[0] + " ok " + encode(redisson.getId() + ":" + id(worker)));
      } else {
        worker.requests.add(words);
      }
    }
  }

  // Redisson's waiters sleep at a semaphore, which the messages open.
  private static boolean isAsleep(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
            .anyMatch(frame -> frame.getClassName().equals(Semaphore.class.getName()))
        && (thread.getState() == Thread.State.WAITING
            || thread.getState() == Thread.State.TIMED_WAITING);
  }

  @SuppressWarnings("deprecation") // threadId() is younger than Java 11
  private static long id(Thread thread) {
    return thread.getId();
  }

  private static synchronized void say(String line) {
    OUT.println(line);
    OUT.flush();
  }

  private static String encode(Object value) {
    return URLEncoder.encode(String.valueOf(value), StandardCharsets.UTF_8).replace("+", "%20");
  }

  private final class Worker extends Thread {
    private final BlockingQueue<String[]> requests = new LinkedBlockingQueue<>();
    private final Permits permits = new Permits(redisson);

    private Worker(String name) {
      super(name);
      setDaemon(true);
      start();
    }

    @Override
    public void run() {
      while (true) {
        String[] words;
        try {
          words = requests.take();
        } catch (InterruptedException idle) {
          continue;
        }
        say(words[0] + " " + answer(words));
      }
    }

    private String answer(String[] words) {
      try {
        return "ok " + encode(run(words));
      } catch (Exception e) {
        return "error " + e.getClass().getSimpleName() + " " + encode(e.getMessage());
      } finally {
        // What came too late for one request is not meant for the next.
        interrupted();
      }
    }

    private Object run(String[] words)
        throws InterruptedException, ReflectiveOperationException {
      String name = URLDecoder.decode(words[4], StandardCharsets.UTF_8);
      if (words[3].equals("semaphore")) {
        long[] numbers = Arrays.stream(words).skip(5).mapToLong(Long::parseLong).toArray();
        return permits.run(words[2], name, numbers);
      }
      RLock lock = find(words[3], name);
      switch (words[2]) {
        case "lock":
          lock.lock(number(words, 5), TimeUnit.MILLISECONDS);
          return true;
        case "lockInterruptibly":
          lock.lockInterruptibly(number(words, 5), TimeUnit.MILLISECONDS);
          return true;
        case "tryLock":
          return words.length == 5
              ? lock.tryLock()
              : lock.tryLock(number(words, 5), number(words, 6), TimeUnit.MILLISECONDS);
        case "unlock":
          lock.unlock();
          return true;
        case "forceUnlock":
          return lock.forceUnlock();
        case "lockAndGetToken":
        case "tryLockAndGetToken":
          return call(Class.forName("org.redisson.api.RFencedLock"), lock, words[2]);
        case "isLocked":
          return lock.isLocked();
        case "isHeld":
          return lock.isHeldByCurrentThread();
        case "holdCount":
          return lock.getHoldCount();
        case "ttl":
          return lock.remainTimeToLive();
        case "count":
          count(lock, URLDecoder.decode(words[5], StandardCharsets.UTF_8), number(words, 6));
          return true;
        default:
          throw new IllegalArgumentException(words[2]);
      }
    }

    // Reads and writes, where only exclusion keeps another's addition from being lost.
    private void count(RLock lock, String key, long times) {
      RBucket<String> bucket = redisson.getBucket(key, StringCodec.INSTANCE);
      for (long i = 0; i < times; ++i) {
        lock.lock();
        try {
          bucket.set(String.valueOf(Long.parseLong(bucket.get()) + 1));
        } finally {
          lock.unlock();
        }
      }
    }

    // What some versions of Redisson do not have.
    private Object call(Class<?> type, Object target, String method, Object... arguments)
        throws ReflectiveOperationException {
      Class<?>[] types =
          Arrays.stream(arguments).map(Object::getClass).toArray(n -> new Class<?>[n]);
      return type.getMethod(method, types).invoke(target, arguments);
    }

    private RLock find(String kind, String name) throws ReflectiveOperationException {
      switch (kind) {
        case "plain":
          return redisson.getLock(name);
        case "fair":
          return redisson.getFairLock(name);
        case "fenced":
          return (RLock) call(RedissonClient.class, redisson, "getFencedLock", name);
        case "read":
          return redisson.getReadWriteLock(name).readLock();
        case "write":
          return redisson.getReadWriteLock(name).writeLock();
        case "multi": // several plain locks, in this order
          return redisson.getMultiLock(
              Arrays.stream(name.split(",")).map(redisson::getLock).toArray(RLock[]::new));
        default:
          throw new IllegalArgumentException(kind);
      }
    }

    // A lease of -1 means that the watchdog renews the lock.
    private long number(String[] words, int index) {
      return Long.parseLong(words[index]);
    }
  }
}
