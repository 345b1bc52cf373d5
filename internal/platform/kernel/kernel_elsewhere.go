//go:build !linux

package kernel

import (
	"os"
	"syscall"
	"time"
)

// Numbers of signals that nobody is sent.
const (
	Stop     = syscall.Signal(19)
	Continue = syscall.Signal(18)
)

func Apart() *syscall.SysProcAttr             { return nil }
func Dying(bool) *syscall.SysProcAttr         { return nil }
func DieWithParent() error                    { return Missing() }
func SignalGroup(int, syscall.Signal) error   { return Missing() }
func AwaitStop(*os.Process) (bool, error)     { return false, Missing() }
func AwaitContinue(*os.Process) (bool, error) { return false, Missing() }
func AwaitEnd(*os.Process) error              { return Missing() }
func ProcessorTime() time.Duration            { return 0 }
func OpenFiles() (uint64, error)              { return 0, Missing() }
func Processes() (uint64, error)              { return 0, Missing() }
func Share(*os.File) error                    { return Missing() }
func Lock(*os.File) (bool, error)             { return false, Missing() }
func Writer(*os.File, int64) (int, error)     { return 0, Missing() }
func Readable(uintptr) bool                   { return true }
func ReadNow(syscall.RawConn, []byte) int     { return 0 }
func WriteNow(syscall.RawConn, []byte) int    { return 0 }
func Become(int, int) error                   { return Missing() }
func RemoveSegment(int) error                 { return Missing() }
