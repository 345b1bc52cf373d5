package maven

import (
	"os/exec"
	"path/filepath"
)

// InstallJava is the command that brings Java.
const InstallJava = "apt-get install default-jdk-headless"

// Java is the program that runs jars, "" where there is none.
func Java() string {
	path, _ := exec.LookPath("java")
	return path
}

// Options are those of Java for a process called name that starts quickly, with a heap of at most
// so much. What it leaves behind, it leaves in dir, and the JVM itself says nothing. The compiler makes
// code at once, and not better code later, and the bytecode of libraries, whose versions are pinned,
// is not verified each time.
func Options(heap, dir, name string) []string {
	return []string{
		"-Xmx" + heap, "-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
		"-XX:-UsePerfData", "-Xlog:disable", "-XX:ErrorFile=" + filepath.Join(dir, name+".java.log"), "-Djava.io.tmpdir=" + dir,
	}
}

// ServerOptions are Options of a server, which is better dead than short of memory.
func ServerOptions(heap, dir, name string) []string {
	return append(Options(heap, dir, name), "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
}
