package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	toldTo    = "told."                // begins the subjects to which the bucket's stream publishes what it stores
	keysOf    = "$KV." + bucket + "."  // begins the subjects of the bucket's keys
	markers   = time.Minute            // for how long the end of a key stays in the bucket
	lookAgain = 5 * time.Millisecond   // after what time somebody is asked again who did not answer
	comesLate = 200 * time.Millisecond // after what time a change is looked for that nobody told
)

// account tells of each change of the bucket's keys, in lines, in the order of the revisions:
//
//	put TIME REVISION KEY VALUE
//	delete TIME REVISION KEY
//	expire TIME REVISION KEY
//	forget TIME            the bucket is gone with all that it had
//	there N                all is told that was before the question N, which came as a line of its input
//
// A change is not looked for in the bucket, which keeps the last one of each key alone: the bucket's stream publishes it as
// it is stored. Each member is listened to, and the member that leads the stream publishes to those who listen to it, whatever
// the other members know of each other.
type account struct {
	config  jetstream.KeyValueConfig
	js      jetstream.JetStream
	changes chan *nats.Msg
	early   map[uint64]*nats.Msg // changes by their revisions, which were published before all that is older was told
	created time.Time            // of the stream of which was told
	last    uint64               // the last revision of which was told
	at      time.Time            // when that change was stored
}

// tellAccount makes the bucket, and makes it again if the servers have forgotten it.
func tellAccount(args []string) error {
	replicas, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	a := &account{changes: make(chan *nats.Msg, 1<<16), early: make(map[uint64]*nats.Msg), config: jetstream.KeyValueConfig{
		Bucket: bucket, LimitMarkerTTL: markers, Replicas: replicas, RePublish: &jetstream.RePublish{Source: keysOf + ">", Destination: toldTo + ">"},
	}}
	if args[1] == "memory" {
		a.config.Storage = jetstream.MemoryStorage
	}
	again := make(chan struct{}, 1)
	for _, member := range strings.Split(args[0], ",") {
		listener, err := connect(member, nats.ReconnectHandler(func(*nats.Conn) {
			select {
			case again <- struct{}{}:
			default:
			}
		}))
		if err != nil {
			return err
		}
		defer listener.Close()
		if _, err := listener.ChanSubscribe(toldTo+">", a.changes); err != nil {
			return err
		}
		if err := listener.FlushTimeout(asksWithin); err != nil {
			return fmt.Errorf("%s does not know that somebody listens: %w", member, err)
		}
	}
	conn, err := connect(args[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	if a.js, err = jetstream.New(conn); err != nil {
		return err
	}
	return a.obey(again)
}

// connect keeps a connection to one of the members.
func connect(members string, more ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(members, append(more, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(lookAgain),
		nats.ReconnectJitter(0, 0), nats.PingInterval(asksWithin))...)
}

func (a *account) obey(again <-chan struct{}) error {
	asked := make(chan string)
	go func() {
		defer close(asked)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			asked <- lines.Text()
		}
	}()
	for {
		err := error(nil)
		select {
		case m := <-a.changes:
			err = a.take(m)
		case <-again:
			err = a.catchUp()
		case n, more := <-asked:
			if !more {
				return nil
			}
			if err = a.catchUp(); err == nil {
				fmt.Println("there", n)
			}
		}
		if err != nil {
			return err
		}
	}
}

// catchUp tells of all that the bucket has now.
func (a *account) catchUp() error {
	info, err := a.look()
	if err != nil {
		return err
	}
	if !info.Created.Equal(a.created) {
		if !a.created.IsZero() {
			fmt.Println("forget", time.Now().UnixNano())
		}
		a.created, a.last = info.Created, 0
		clear(a.early)
	}
	return a.reach(info.State.LastSeq)
}

// reach tells of all changes until that with the revision.
func (a *account) reach(revision uint64) error {
	late, cancel := context.WithTimeout(context.Background(), comesLate)
	defer cancel()
	for a.last < revision {
		err := error(nil)
		if m := a.early[a.last+1]; m != nil {
			err = a.tellEarly(m)
		} else {
			select {
			case m := <-a.changes:
				_, err = a.keep(m)
			case <-late.Done():
				err = a.fetch()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// look asks for the bucket's stream until there is an answer, and makes the bucket where there is none.
func (a *account) look() (*jetstream.StreamInfo, error) {
	for {
		info, err := a.ask()
		if err == nil {
			return info, nil
		}
		if code := new(jetstream.APIError); errors.As(err, &code) && code.Code == 400 {
			return nil, err // it will not be better
		}
		time.Sleep(lookAgain)
	}
}

func (a *account) ask() (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), asksWithin)
	defer cancel()
	stream, err := a.js.Stream(ctx, "KV_"+bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if _, err = a.js.CreateKeyValue(ctx, a.config); err == nil {
			stream, err = a.js.Stream(ctx, "KV_"+bucket)
		}
	}
	if err != nil {
		return nil, err
	}
	return stream.CachedInfo(), nil
}

// fetch tells of the next change, which was not published to this connection.
func (a *account) fetch() error {
	ctx, cancel := context.WithTimeout(context.Background(), asksWithin)
	defer cancel()
	stream, err := a.js.Stream(ctx, "KV_"+bucket)
	if err == nil {
		var m *jetstream.RawStreamMsg
		if m, err = stream.GetMsg(ctx, a.last+1); err == nil {
			a.tell(m.Sequence, m.Time, strings.TrimPrefix(m.Subject, keysOf), m.Header, m.Data)
			return nil
		}
	}
	return fmt.Errorf("the change with the revision %d was not told, and is in the bucket no more: %w", a.last+1, err)
}

// take tells of a change that was published, and before it of those that are older.
func (a *account) take(m *nats.Msg) error {
	revision, err := a.keep(m)
	if err != nil {
		return err
	}
	return a.reach(revision)
}

// keep keeps a change that was published until all that is older is told. Each listener hears of the change.
func (a *account) keep(m *nats.Msg) (revision uint64, err error) {
	revision, err = strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err == nil && revision > a.last {
		a.early[revision] = m
	}
	return revision, err
}

func (a *account) tellEarly(m *nats.Msg) error {
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return err
	}
	if now := time.Now(); now.Sub(at) > asksWithin { // the leader took it in, and had no majority until now
		at = now
	}
	a.tell(a.last+1, at, strings.TrimPrefix(m.Header.Get("Nats-Subject"), keysOf), m.Header, m.Data)
	return nil
}

func (a *account) tell(revision uint64, at time.Time, key string, header nats.Header, value []byte) {
	a.last = revision
	delete(a.early, revision)
	if at.After(a.at) {
		a.at = at
	}
	what := "put"
	switch {
	case header.Get("Nats-Marker-Reason") == "MaxAge":
		what = "expire"
	case header.Get("Nats-Marker-Reason") != "" || header.Get("KV-Operation") != "":
		what = "delete"
	}
	fmt.Println(strings.TrimSpace(fmt.Sprint(what, " ", a.at.UnixNano(), " ", revision, " ", key, " ", string(value))))
}
