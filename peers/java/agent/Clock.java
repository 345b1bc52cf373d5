import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** The machine's clock. That of the JVM is ahead of it where the scenario says so: libfaketime is between them. */
final class Clock {
    private final Duration ahead;

    Clock(Duration ahead) throws IOException {
        this.ahead = ahead;
        if (!ahead.isZero()) {
            forget();
        }
    }

    Instant now() {
        return Instant.now().minus(ahead);
    }

    /** Takes away the files by which libfaketime speaks to child processes: a JVM that is killed would leave them behind. */
    private static void forget() throws IOException {
        for (String file : List.of("faketime_shm_", "sem.faketime_sem_")) {
            Files.deleteIfExists(Path.of("/dev/shm", file + ProcessHandle.current().pid()));
        }
    }
}
