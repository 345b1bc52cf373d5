import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A program that takes locks of a library as a test has it. A line of its input has the name of a
 * thread, a kind of lock, its lease in milliseconds, its name, and what the thread is to do. The
 * answer is a line: the name of the thread, and a word.
 */
public final class Interop {
    /** A lock library at a server. */
    interface Library {
        Lock lock(String kind, long lease, String name);
    }

    private Interop() {
    }

    /** Is told the name of the library, whose jars alone are there, and where its server is. */
    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // for what libraries say
        Library library = open(args[0], args[1]);
        Map<String, ExecutorService> threads = new HashMap<>();
        Map<String, Lock> locks = new HashMap<>();
        answers.println("- ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            Lock lock = locks.computeIfAbsent(words[1] + " " + words[2] + " " + words[3],
                key -> library.lock(words[1], Long.parseLong(words[2]), words[3]));
            threads.computeIfAbsent(words[0], name -> Executors.newSingleThreadExecutor()).execute(() -> {
                try {
                    answers.println(words[0] + " " + obey(lock, words));
                } catch (Exception e) {
                    e.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
            });
        }
        Runtime.getRuntime().halt(0);
    }

    private static Library open(String name, String server) throws Exception {
        return switch (name) {
            case "curator" -> new OfCurator(server);
            case "jdbc" -> new OfJdbc(server);
            case "jetcd" -> new OfJetcd(server);
            case "redisson" -> new OfRedisson(server);
            case "spring" -> new OfSpring(server);
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static String obey(Lock lock, String[] words) throws Exception {
        switch (words[4]) {
            case "lock":
                return lock.take(-1) ? "locked" : "refused";
            case "try":
                return lock.take(0) ? "locked" : "refused";
            case "within":
                return lock.take(Long.parseLong(words[5])) ? "locked" : "refused";
            case "renew":
                lock.renew();
                return "renewed";
            case "token":
                return Long.toString(lock.token());
            case "count":
                lock.take(-1);
                Path file = Path.of(words[5]);
                int n = Integer.parseInt(Files.readString(file));
                Files.writeString(file, Integer.toString(n + 1));
                lock.free();
                return "counted";
            case "unlock":
                try {
                    lock.free();
                    return "unlocked";
                } catch (IllegalMonitorStateException | ConcurrentModificationException e) {
                    return "lost";
                }
            default:
                throw new IllegalArgumentException(words[4]);
        }
    }
}
