import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Memory that is slow to collect, and collections of it. How long a collection stops the program
 * is what the JVM's own log says.
 */
final class Heap {
    /** The log's file, to which -Xlog:gc,gc+cpu,gc+phases writes. */
    private static final Path LOG = Path.of(System.getProperty("fencelab.gclog", "none"));
    private static final Pattern PAUSE = Pattern.compile("(GC\\(\\d+\\) )(Pause .* ([0-9.]+)ms)$");
    private static final Pattern CPU = Pattern.compile("GC\\(\\d+\\) User=([0-9.]+)s Sys=([0-9.]+)s");

    private static final int FIRST = 1 << 21; // objects; far more than the processor's caches hold
    private static final double ENOUGH = 1.1; // of the time wanted: later collections move less
    private static final int HOPELESS = 4 * FIRST; // so many objects tell what a collector does
    private static final int MOST = 16 * FIRST;

    private static final class Node {
        Node next;
    }

    /**
     * A pause, by the log.
     *
     * @param took  how long it stopped the program
     * @param work  how long the processors worked for it, where the log says that; else as took
     * @param words the line of the log
     */
    private record Pause(Duration took, Duration work, String words) {
    }

    private Node list;
    private int size;
    private boolean stops;

    /** Fills the heap until a collection takes so long. Says how long one takes then, and whether it stops the program for most of that. */
    void load(Duration want, Fields answer) throws IOException {
        for (double wanted = FIRST; ; ) {
            grow((int) Math.min(wanted, MOST));
            Pause pause = collect();
            double part = seconds(pause.work) / seconds(want);
            if (part >= ENOUGH || size >= MOST || size >= HOPELESS && !stops) {
                Runtime memory = Runtime.getRuntime();
                answer.with("took", pause.work.toNanos()).with("mebibytes", (memory.totalMemory() - memory.freeMemory()) >> 20).with("stops", stops);
                return;
            }
            wanted = stops ? Math.max(size + FIRST, ENOUGH * size / part) : HOPELESS;
        }
    }

    /** Runs a collection, and says what the log says of its longest pause. */
    void collect(Fields answer) throws IOException {
        Pause pause = collect();
        answer.with("took", pause.took.toNanos()).with("words", pause.words);
    }

    /** Adds objects in a random order: the collector finds none where it looks. */
    private void grow(int wanted) {
        Node[] nodes = new Node[Math.max(wanted - size, 0)];
        Arrays.setAll(nodes, i -> new Node());
        SplittableRandom random = new SplittableRandom();
        for (int left = nodes.length; left > 0; left--) {
            int i = random.nextInt(left);
            Node node = nodes[i];
            nodes[i] = nodes[left - 1];
            node.next = list;
            list = node;
        }
        size += nodes.length;
    }

    /** Runs a collection, and returns its longest pause. */
    private Pause collect() throws IOException {
        long before = Files.size(LOG);
        long began = System.nanoTime();
        System.gc();
        Duration all = Duration.ofNanos(System.nanoTime() - began);
        byte[] log = Files.readAllBytes(LOG);
        Pause longest = new Pause(Duration.ZERO, Duration.ZERO, "");
        double work = -1;
        for (String line : new String(log, (int) before, log.length - (int) before).split("\n")) {
            Matcher pause = PAUSE.matcher(line), cpu = CPU.matcher(line);
            if (pause.find() && millis(pause.group(3)).compareTo(longest.took) > 0) {
                longest = new Pause(millis(pause.group(3)), millis(pause.group(3)), pause.group(1) + pause.group(2));
            }
            if (cpu.find()) {
                work = Double.parseDouble(cpu.group(1)) + Double.parseDouble(cpu.group(2));
            }
        }
        stops = longest.took.multipliedBy(2).compareTo(all) > 0;
        // On a machine with much to do a pause is longer than its work.
        return work < 0 || work > seconds(longest.took) ? longest : new Pause(longest.took, millis(Double.toString(1000 * work)), longest.words);
    }

    private static Duration millis(String text) {
        return Duration.ofNanos(Math.round(1e6 * Double.parseDouble(text)));
    }

    private static double seconds(Duration d) {
        return d.toNanos() / 1e9;
    }
}
