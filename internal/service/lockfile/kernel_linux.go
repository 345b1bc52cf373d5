package lockfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// flock takes the kernel's lock on a file, unless another has it. It ends when the file is closed.
func flock(f *os.File) (has bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// watch is what the kernel tells of a directory, for changes.
func watch(dir string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	told := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MODIFY|unix.IN_DELETE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err != nil {
		_ = told.Close()
		return nil, fmt.Errorf("inotify of %s: %w", dir, err)
	}
	return told, nil
}

// changes reads what the kernel has told, as far as it is about lock files. An error says what it
// has not told.
func changes(told []byte) (list []change, err error) {
	kinds := map[uint32]changeKind{unix.IN_CREATE: isCreated, unix.IN_MODIFY: isWritten, unix.IN_DELETE: isRemoved, unix.IN_MOVED_TO: isReleased}
	for len(told) >= unix.SizeofInotifyEvent {
		mask, long := binary.NativeEndian.Uint32(told[4:]), binary.NativeEndian.Uint32(told[12:])
		name := string(bytes.TrimRight(told[unix.SizeofInotifyEvent:][:long], "\x00"))
		told = told[unix.SizeofInotifyEvent:][long:]
		kind, known := kinds[mask]
		if !known {
			return list, fmt.Errorf("inotify has lost what it had to tell, or its directory: %#x", mask)
		}
		if lock, owner, is := partsOf(name); is && (owner != "") == (kind == isReleased) {
			list = append(list, change{kind, lock, owner})
		}
	}
	return list, nil
}
