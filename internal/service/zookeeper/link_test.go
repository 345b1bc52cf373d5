package zookeeper

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/service"
)

// untold is one whose connection is told of by a test.
func untold(timeout time.Duration) *link {
	l := newLink(timeout, timeout)
	l.Conn = new(zk.Conn)
	return l
}

func (l *link) told(states ...zk.State) {
	for _, s := range states {
		l.see(zk.Event{Type: zk.EventSession, State: s})
	}
}

// TestSuspendedIsNotLost: a connection that breaks is told of at once. The session may
// outlast it: the state after the next connection is no end of that session.
func TestSuspendedIsNotLost(t *testing.T) {
	l := untold(time.Hour)
	if suspended, lost := l.state(); !service.IsClosed(suspended) || !service.IsClosed(lost) {
		t.Error("before the first session there is something to lose")
	}
	l.told(zk.StateConnected, zk.StateHasSession)
	suspended, lost := l.state()
	if service.IsClosed(suspended) || service.IsClosed(lost) {
		t.Error("there is a session, and something is lost")
	}
	l.told(zk.StateDisconnected)
	if !service.IsClosed(suspended) || service.IsClosed(lost) {
		t.Error("want suspended alone")
	}
	l.told(zk.StateConnected, zk.StateHasSession)
	if now, stillLost := l.state(); service.IsClosed(now) || service.IsClosed(lost) || stillLost != lost {
		t.Error("the session does not go on")
	}
}

// TestExpiredIsLost: by the word of ZooKeeper.
func TestExpiredIsLost(t *testing.T) {
	l := untold(time.Hour)
	l.told(zk.StateHasSession)
	_, lost := l.state()
	l.told(zk.StateDisconnected, zk.StateConnected, zk.StateExpired)
	if !service.IsClosed(lost) {
		t.Error("the session has expired, and is not lost")
	}
	l.told(zk.StateDisconnected, zk.StateHasSession)
	if _, next := l.state(); service.IsClosed(next) {
		t.Error("the next session is lost from its beginning")
	}
}

// TestSilenceIsLost: by the client's own clock, where nobody answers.
func TestSilenceIsLost(t *testing.T) {
	l := untold(time.Millisecond)
	l.told(zk.StateHasSession)
	_, lost := l.state()
	l.told(zk.StateDisconnected)
	<-lost
}
