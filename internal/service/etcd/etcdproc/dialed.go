package etcdproc

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dialed reports whether a process of this machine made a connection, of which this is
// the end that was accepted; by proc(5).
func dialed(pid int, accepted net.Conn) bool {
	socket := socketOf(accepted.RemoteAddr(), accepted.LocalAddr())
	if socket == "" {
		return false
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return err == nil && slices.ContainsFunc(files, func(f string) bool {
		name, err := os.Readlink(f)
		return err == nil && name == socket
	})
}

// socketOf names the socket with these two addresses as the kernel does among a
// process's files; "" where there is none.
func socketOf(local, remote net.Addr) string {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return ""
	}
	ends := []string{inTable(local), inTable(remote)}
	for line := range strings.Lines(string(table)) {
		const inode = 9
		f := strings.Fields(line)
		if len(f) > inode && slices.Equal(f[1:3], ends) {
			return "socket:[" + f[inode] + "]"
		}
	}
	return ""
}

// inTable is an address as /proc/net/tcp has it.
func inTable(addr net.Addr) string {
	a := addr.(*net.TCPAddr)
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}
