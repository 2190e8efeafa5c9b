import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.redisson.Redisson;
import org.redisson.api.RDeque;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * The peer of fair_queue.cpp: hands Redisson's fair lock over while many threads wait for it.
 *
 * <p>FairQueue URL WAITERS HANDOVERS: one more thread than WAITERS, each of which takes the lock,
 * gives it back when it is told to, and joins the queue's tail again. Prints "ready" after a
 * warm-up, waits for a line on stdin, hands the lock over HANDOVERS times and prints one line of
 * JSON with the times, in nanoseconds, from the call of unlock() until lock() returned in the next
 * thread. Fails when that is not the thread that has waited longest. Leaves its keys behind: that
 * many threads cannot leave Redisson's queue in a reasonable time.
 */
public final class FairQueue {
    private static final String NAME = "fair-queue";
    private static final int WARM_UP_HANDOVERS = 3000;
    private static final long WARM_UP_SECONDS = 15;
    private static final long PAUSE_MS = 2; // until everybody sleeps, as in fair_queue.cpp
    private static final long LONGEST_HANDOVER_SECONDS = 30;
    private static final int STACK_BYTES = 256 * 1024;

    private static final class Grant {
        final int thread;
        final long when = System.nanoTime();

        Grant(int thread) {
            this.thread = thread;
        }
    }

    private final RLock lock;
    private final RDeque<String> queue;
    private final int waiters;
    private final BlockingQueue<Grant> grants = new LinkedBlockingQueue<>();
    private final List<BlockingQueue<Boolean>> orders = new ArrayList<>();
    private volatile long released;
    private int holder;

    private FairQueue(RedissonClient redisson, int waiters) {
        this.lock = redisson.getFairLock(NAME);
        this.queue = redisson.getDeque("redisson_lock_queue:{" + NAME + "}", StringCodec.INSTANCE);
        this.waiters = waiters;
    }

    private void takeTurns(int me) {
        try {
            while (true) {
                lock.lock();
                grants.add(new Grant(me));
                orders.get(me).take();
                released = System.nanoTime();
                lock.unlock();
            }
        } catch (InterruptedException | RuntimeException error) {
            fail("a waiter: " + error);
        }
    }

    private void start(int number) {
        orders.add(new LinkedBlockingQueue<>());
        Thread thread = new Thread(null, () -> takeTurns(number), "waiter-" + number, STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
    }

    private Grant nextGrant() throws InterruptedException {
        Grant grant = grants.poll(LONGEST_HANDOVER_SECONDS, TimeUnit.SECONDS);
        if (grant == null) {
            fail("nobody took the lock");
        } else if (grant.thread != holder) {
            fail("the lock went to the wrong waiter");
        }
        return grant;
    }

    private void waitForQueue(int length) throws InterruptedException {
        while (queue.size() != length) {
            Thread.sleep(1);
        }
    }

    private void fill() throws InterruptedException {
        start(0);
        nextGrant();
        for (int i = 1; i <= waiters; ++i) {
            start(i);
            waitForQueue(i);
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WARM_UP_SECONDS);
        for (int i = 0; i < WARM_UP_HANDOVERS && System.nanoTime() < end; ++i) {
            handOver();
        }
    }

    private long handOver() throws InterruptedException {
        Thread.sleep(PAUSE_MS);
        int former = holder;
        holder = (holder + 1) % (waiters + 1);
        orders.get(former).add(true);
        Grant grant = nextGrant();
        waitForQueue(waiters); // the former holder has joined again
        return grant.when - released;
    }

    private static void fail(String why) {
        System.err.println("FairQueue: " + why);
        Runtime.getRuntime().halt(1);
    }

    private static RedissonClient connect(String url) {
        Config config = new Config();
        config.useSingleServer().setAddress(url).setSubscriptionsPerConnection(1000);
        return Redisson.create(config);
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        if (args.length != 3) {
            fail("usage: FairQueue URL WAITERS HANDOVERS");
        }
        BufferedReader input =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int waiters = Integer.parseInt(args[1]);
        FairQueue bench = new FairQueue(connect(args[0]), waiters);
        bench.fill();
        System.out.println("ready");
        input.readLine();

        long[] times = new long[Integer.parseInt(args[2])];
        for (int i = 0; i < times.length; ++i) {
            times[i] = bench.handOver();
        }
        String list =
                Arrays.stream(times).mapToObj(Long::toString).collect(Collectors.joining(","));
        System.out.println("{\"waiters\":" + waiters + ",\"handover_ns\":[" + list + "]}");
        input.readLine();
        Runtime.getRuntime().halt(0);
    }
}
