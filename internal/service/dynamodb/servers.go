package dynamodb

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/webpage"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
	"github.com/fencelab/fencelab/internal/service/leaseaccount"
)

// servers are the server, which other runs use as well, and the gate before it.
type servers struct {
	stage  service.Stage
	server string
	addr   string // of the gate
}

// launch starts a server for several runs, with the table of locks.
func launch(ctx context.Context, g *proc.Group, _ setting.Values) (service.Launched, error) {
	n, err := ddbproc.Start(ctx, g)
	if err != nil {
		return service.Launched{}, err
	}
	if err := prepare(ctx, n.Addr); err != nil {
		return service.Launched{}, fmt.Errorf("make the tables of locks and of data: %w", err)
	}
	return service.Launched{Endpoints: []string{n.Addr}, Processes: []*proc.Process{n.Process()}}, nil
}

// prepare makes the tables of locks and of data, and has the server do once what clients will ask it for: its first requests
// may take longer than a lease lasts.
func prepare(ctx context.Context, server string) error {
	const (
		condition = `"ConditionExpression":"attribute_not_exists(#a) OR #a = :a","ExpressionAttributeNames":{"#a":"ownerName"},"ExpressionAttributeValues":{":a":{"S":"none"}}`
		warmUp    = `{"TableName":%q,"Key":{%q:{"S":"warm-up"}},`
		create    = `{"TableName":%q,"BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":%[2]q,"AttributeType":"S"}],"KeySchema":[{"AttributeName":%[2]q,"KeyType":"HASH"}]}`
	)
	if _, err := ddbproc.Ask(ctx, server, "CreateTable", fmt.Appendf(nil, create, data, key)); err != nil {
		return err
	}
	for _, ask := range []struct{ operation, body string }{
		{"CreateTable", create},
		{"DescribeTable", `{"TableName":%q}%.0s`},
		{"PutItem", `{"TableName":%q,"Item":{%q:{"S":"warm-up"}},` + condition + `}`},
		{"UpdateItem", warmUp + `"UpdateExpression":"SET #a = :a","ReturnValues":"ALL_NEW",` + condition + `}`},
		{"GetItem", warmUp + `"ConsistentRead":true}`},
		{transact, `{"TransactItems":[{"ConditionCheck":` + warmUp + condition + `}},{"Put":{"TableName":"` + data + `","Item":{%[2]q:{"S":"warm-up"}}}}]}`},
		{"DeleteItem", warmUp + condition + `}`},
	} {
		if _, err := ddbproc.Ask(ctx, server, ask.operation, fmt.Appendf(nil, ask.body, table, key)); err != nil {
			return err
		}
	}
	return nil
}

func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, server: strings.Join(endpoints, "")}
}

// headerDeadline is for how long the gate waits for the head of a request.
const headerDeadline = 10 * time.Second

// Observe opens the gate.
func (s *servers) Observe(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr = listener.Addr().String()
	g := &gate{server: s.server, account: leaseaccount.New(s.stage, Name), data: dataAccount{told: s.stage}, locks: s.stage.Plan().Locks, fail: func(err error) { s.stage.Fail(nil, err) }, last: make(map[string]item)}
	server := &http.Server{Handler: webpage.Guard(g), ReadHeaderTimeout: headerDeadline}
	s.stage.Go(func() { _ = server.Serve(listener) })
	s.stage.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	return nil
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{s.addr}, nil
}

// Final implements service.Keeper.
func (s *servers) Final(ctx context.Context, of string) (is string, has bool, err error) {
	question, err := json.Marshal(readOf(s.stage.Plan().Prefix + "/" + of))
	if err != nil {
		return "", false, err
	}
	answer, err := ddbproc.Ask(ctx, s.server, getItem, question)
	if err != nil {
		return "", false, err
	}
	is, missing, err := valueIn(answer)
	return is, !missing, err
}

// Leave has nothing to do: the items stay in the server, under names that no other run uses.
func (s *servers) Leave(context.Context) {}
