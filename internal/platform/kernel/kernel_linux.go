package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The signals that stop a process and let it go on.
const (
	Stop     = syscall.SIGSTOP
	Continue = syscall.SIGCONT
)

// Apart has a process begin in a process group of its own: Ctrl-C is not for it.
func Apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Dying has a process die with the thread that starts it; group: it has a process group of its own.
func Dying(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: group, Pdeathsig: syscall.SIGKILL}
}

// DieWithParent has this thread's process die with the thread that started it.
func DieWithParent() error {
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
}

// SignalGroup sends a signal to all processes of a group.
func SignalGroup(group int, s syscall.Signal) error { return unix.Kill(-group, s) }

// Codes of a siginfo that tell of an end; see waitid(2).
const (
	cldExited = 1
	cldKilled = 2
	cldDumped = 3
)

// AwaitStop returns when a child stands still or has ended, and reports whether it has ended.
func AwaitStop(p *os.Process) (ended bool, err error) { return await(p, unix.WSTOPPED) }

// AwaitContinue returns when a child goes on or has ended, and reports whether it has ended.
func AwaitContinue(p *os.Process) (ended bool, err error) { return await(p, unix.WCONTINUED) }

// AwaitEnd returns when a child has ended. Its id is nobody else's until its parent waits for it.
func AwaitEnd(p *os.Process) error {
	_, err := await(p, 0)
	return err
}

func await(p *os.Process, state int) (ended bool, err error) {
	var info unix.Siginfo
	gone := p.WithHandle(func(pidfd uintptr) {
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			// WNOWAIT leaves the state for exec.Cmd.Wait, which takes ends only.
			err = unix.Waitid(unix.P_PIDFD, int(pidfd), &info, state|unix.WEXITED|unix.WNOWAIT, nil)
		}
	})
	switch {
	case errors.Is(gone, os.ErrProcessDone):
		return true, nil
	case gone != nil:
		return false, gone
	}
	return info.Code == cldExited || info.Code == cldKilled || info.Code == cldDumped, err
}

// ProcessorTime is what this program has used of the processors so far.
func ProcessorTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0 // it is no error that the kernel knows
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// OpenFiles is how many files this process may have open.
func OpenFiles() (uint64, error) {
	var files syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	return files.Cur, err
}

// Processes is how many processes and threads this process's user may have. Root may have more.
func Processes() (uint64, error) {
	var processes unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NPROC, &processes)
	return processes.Cur, err
}

// Share takes a shared lock of a file, if nobody has an exclusive one.
func Share(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
}

// Lock takes an exclusive lock of a file, and reports whether nobody else has one. It ends with the file's Close, or with
// the process.
func Lock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Writer is the process that has a lock on a byte of a file; 0 is none.
func Writer(file *os.File, at int64) (process int, err error) {
	asked := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: at, Len: 1}
	if err := unix.FcntlFlock(file.Fd(), unix.F_GETLK, &asked); err != nil {
		return 0, err
	}
	if asked.Type == unix.F_UNLCK {
		return 0, nil
	}
	return int(asked.Pid), nil
}

// Readable reports whether a read of a socket would return at once. It reads nothing.
func Readable(fd uintptr) bool {
	for {
		_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if !errors.Is(err, unix.EINTR) {
			return !errors.Is(err, unix.EAGAIN)
		}
	}
}

// Become makes this process another user's.
func Become(uid, gid int) error {
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(gid), syscall.Setuid(uid))
}

// RemoveSegment has a segment of System V's shared memory go with the last process that uses it.
func RemoveSegment(id int) error {
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
		return fmt.Errorf("segment %d: %w", id, err)
	}
	return nil
}

// ReadNow reads what has come by a connection, and does not wait for it. It returns 0
// where there is nothing, or a read that waits would end with an error.
func ReadNow(c syscall.RawConn, b []byte) (n int) {
	_ = c.Read(func(fd uintptr) bool { n, _ = unix.Read(int(fd), b); return true })
	return max(0, n)
}

// WriteNow writes as much as a connection takes without waiting.
func WriteNow(c syscall.RawConn, b []byte) (n int) {
	_ = c.Write(func(fd uintptr) bool { n, _ = unix.Write(int(fd), b); return true })
	return max(0, n)
}
