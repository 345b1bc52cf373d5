package postgresproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Arg is the first argument with which Start starts the group's program as a role of the server's.
const Arg = "postgres-node"

// forgetArg has the role mark a segment of shared memory, not run a program.
const forgetArg = "forget"

// pidFile is the file in which a postmaster tells of itself.
const pidFile = "postmaster.pid"

// Command is the role: to run a program of PostgreSQL, as nobody where this process is root's.
func Command() *cobra.Command {
	return &cobra.Command{
		Use: Arg + " PROGRAM [ARGUMENT]...", Short: "Be a process of PostgreSQL", Hidden: true,
		Args: cobra.MinimumNArgs(1), DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			err := leaveRoot()
			switch {
			case err == nil && args[0] == forgetArg:
				err = forgetSegment(args[1:])
			case err == nil:
				err = proc.Exec(args)
			}
			if err != nil {
				err = fmt.Errorf("postgres: %w", err)
			}
			return err
		},
	}
}

// leaveRoot makes this process nobody's if it is root's.
func leaveRoot() error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := nobody()
	if err != nil {
		return err
	}
	if err := kernel.Become(uid, gid); err != nil {
		return fmt.Errorf("as root it needs to become nobody: %w", err)
	}
	return nil
}

// nobody is the user who has no rights, and that user's group.
func nobody() (uid, gid int, err error) {
	u, err := user.Lookup("nobody")
	if err == nil {
		_, err = fmt.Sscan(u.Uid+" "+u.Gid, &uid, &gid)
	}
	return uid, gid, err
}

// makeDir makes a directory for data in a group's. It belongs to who runs the server.
func makeDir(of string) (string, error) {
	if err := mayEnter(filepath.Dir(of), "a TMPDIR that all may enter"); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(of, "postgres")
	if err != nil || os.Geteuid() != 0 {
		return dir, err
	}
	uid, gid, err := nobody()
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Chown(dir, uid, gid), os.Chown(of, -1, gid), os.Chmod(of, 0o710))
}

// mayEnter says that PostgreSQL may not enter a directory, and what there is to want; otherwise
// is what would do as well as another mode.
func mayEnter(dir, otherwise string) error {
	if at := closed(dir); at != "" && os.Geteuid() == 0 {
		return fmt.Errorf("it does not run as root, but as nobody, and nobody may not enter %s: want chmod o+x %[1]s, or %s", at, otherwise)
	}
	return nil
}

// closed is the first of a directory and those above it that only its owner may enter; "":
// there is none.
func closed(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.Mode()&0o001 == 0 {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// forget has the kernel remove the server's segment of System V's shared memory with the last
// process that uses it. Else the segment, of 56 bytes, would outlive a server that is killed.
// Only the segment's owner may ask for that.
func (s *Server) forget(ctx context.Context) error {
	told, err := os.ReadFile(filepath.Join(s.dir, pidFile))
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	const line = 6 // key and id
	lines := strings.Split(string(told), "\n")
	if len(lines) <= line {
		return fmt.Errorf("postgres: %s has no line of shared memory: %q", pidFile, told)
	}
	segment := strings.Fields(lines[line])
	p, err := s.Group.Start("postgres "+forgetArg, nil, append([]string{Arg, forgetArg}, segment...)...)
	if err != nil {
		return err
	}
	return p.AwaitEnd(ctx)
}

// forgetSegment is forget's role; segment is its key and its id.
func forgetSegment(segment []string) error {
	if len(segment) != 2 {
		return fmt.Errorf("got %q, want the key and the id of a segment", segment)
	}
	id, err := strconv.Atoi(segment[1])
	if err != nil {
		return fmt.Errorf("segment: %w", err)
	}
	return kernel.RemoveSegment(id)
}
