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
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * A Redisson client that is driven by lines, so that tests in another language can have one.
 *
 * <p>Arguments: address of the server, lockWatchdogTimeout (ms), fairLockWaitTimeout (ms; set where
 * this Redisson has it). Says "ready UUID HAS_FAIR_WAIT" when it is connected, then answers each line
 * {@code ID THREAD COMMAND [KIND NAME [NUMBER...]]} by {@code ID ok VALUE} or
 * {@code ID error CLASS MESSAGE}; names and messages are percent-encoded. Lines for one THREAD (any
 * word) run in turn on a real thread, since Redisson's owner is UUID:thread id; several threads run
 * side by side. It ends, as if killed, with the end of its input.
 */
public final class Peer {
  private static final PrintStream OUT = System.out;
  private static final String FAIR_WAIT = "setFairLockWaitTimeout";

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
    config.useSingleServer()
        .setAddress(address)
        .setConnectionMinimumIdleSize(2)
        .setConnectionPoolSize(8)
        .setSubscriptionConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionPoolSize(4)
        .setSubscriptionsPerConnection(50);
    return config;
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

    private Object run(String[] words) throws InterruptedException {
      RLock lock = find(words[3], URLDecoder.decode(words[4], StandardCharsets.UTF_8));
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

    private RLock find(String kind, String name) {
      switch (kind) {
        case "plain":
          return redisson.getLock(name);
        case "fair":
          return redisson.getFairLock(name);
        case "read":
          return redisson.getReadWriteLock(name).readLock();
        case "write":
          return redisson.getReadWriteLock(name).writeLock();
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
