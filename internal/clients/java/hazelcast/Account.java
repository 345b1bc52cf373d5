import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What a member tells of its locks: a line for each tenure that begins or ends, to whoever
 * connects, from the first line on. All members tell the same of a lock, in the same order, as
 * they apply the same log.
 */
final class Account {
    private final List<String> lines = new ArrayList<>();
    private String who; // null: the member does not serve yet

    /** Says who tells. Until then nobody is told anything. */
    synchronized void begin(String who) {
        this.who = who;
        notifyAll();
    }

    /** Adds a line. */
    synchronized void tell(String line) {
        lines.add(line);
        notifyAll();
    }

    /** Serves all lines to everybody, in the background, for ever. */
    void serve(ServerSocket listener) {
        new Thread(() -> accept(listener), "account").start();
    }

    private void accept(ServerSocket listener) {
        try {
            while (true) {
                Socket socket = listener.accept();
                new Thread(() -> serve(socket), "account").start();
            }
        } catch (IOException err) {
            throw new UncheckedIOException(err);
        }
    }

    private void serve(Socket socket) {
        try (socket; PrintStream out = new PrintStream(socket.getOutputStream(), false, StandardCharsets.UTF_8)) {
            for (int told = -1; !out.checkError(); told++) {
                out.print(await(told) + "\n");
                out.flush();
            }
        } catch (IOException | InterruptedException gone) {
            // who is gone asks anew
        }
    }

    private synchronized String await(int place) throws InterruptedException {
        while (who == null || lines.size() <= place) {
            wait();
        }
        return place < 0 ? who : lines.get(place);
    }
}
