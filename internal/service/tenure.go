package service

import (
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Granted is what a Tenure has by its grant where its owner is the name of both tenure and
// session, and its token is what the client shows.
type Granted struct{ lock.Tenure }

// Name implements Tenure, as Session and Shown do.
func (g Granted) Name() string { return g.Grant().Owner }

func (g Granted) Session() string { return g.Grant().Owner }

func (g Granted) Shown() (token fence.Token, remark string) { return g.Grant().Token, "" }
