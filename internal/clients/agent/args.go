package agent

import (
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Args are what a client is told at its start.
type Args struct {
	Name           string // of the client
	Service        string
	Endpoints      []string
	Lock           string // that it takes where a command names none
	Storage        string // URL; "": the data lies in the lock service
	SendStorage    string // URL for what it sends and does not wait for
	ConnectTimeout time.Duration
	AskedBefore    int
	Words          bool
	Known          []setting.Setting // in the order in which it is told them
	Settings       setting.Values    // their values
}

// List is the arguments, as docs/agent.md has them.
func (a Args) List() []string {
	list := []string{
		"--name", a.Name, "--service", a.Service, "--endpoints", strings.Join(a.Endpoints, ","), "--lock", a.Lock,
		"--connect-timeout", a.ConnectTimeout.String(), "--asked-before", strconv.Itoa(a.AskedBefore),
	}
	if a.Storage == "" {
		list = append(list, "--in-service")
	} else {
		list = append(list, "--storage", a.Storage, "--send-storage", a.SendStorage)
	}
	if a.Words {
		list = append(list, "--words")
	}
	for _, s := range a.Known {
		list = append(list, "--"+s.Name+"="+a.Settings.Text(s.Name))
	}
	return list
}
