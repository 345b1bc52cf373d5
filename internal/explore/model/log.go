package model

// Log is what comes of steps, in its order. A nil Log notes nothing.
type Log struct{ Entries []Entry }

func (l *Log) note(e Entry) {
	if l != nil {
		l.Entries = append(l.Entries, e)
	}
}

// Entry is one thing that happened.
type Entry struct {
	What     What
	Client   int
	Tenure   uint8
	Token    uint8 // of a tenure; or the mark after a request
	Request  Request
	Keys     uint // a bit for each
	Reason   Reason
	Released bool // by its holder
}

// What happened.
type What uint8

const (
	Queued     What = iota + 1 // a place in the queue, by the lock service
	Left                       // a client waits for the lock no more
	Granted                    // a tenure, by the lock service
	Ended                      // a tenure
	Told                       // a client, of its grant
	Unlocks                    // a client asks for the end of its tenure
	Unlocked                   // and is told that it is over
	Unheard                    // or hears no answer
	Asked                      // a request, which waits in the network
	Applied                    // a request, by the storage
	WasRefused                 // a request, by the storage
)
