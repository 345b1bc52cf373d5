package fencegrpc

import (
	"encoding/json"
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// domain says of an ErrorInfo that it tells of a refusal of this package.
const domain = "github.com/fencelab/fencelab"

// reasonDuplicate is the reason of what is no refusal, and has no problem document.
const reasonDuplicate = "DUPLICATE"

var codeOf = map[fencehttp.Reason]codes.Code{
	fencehttp.ReasonStale:   codes.FailedPrecondition,
	fencehttp.ReasonMissing: codes.InvalidArgument,
	fencehttp.ReasonInvalid: codes.InvalidArgument,
	fencehttp.ReasonAhead:   codes.OutOfRange,
}

// refused reports whether err says that a claim was judged, and its operation not done.
func refused(err error) bool {
	return fencehttp.ReasonOf(err) != "" || errors.Is(err, fence.ErrDuplicate)
}

// Error returns what a handler returns to tell its client of a refusal, or of a duplicate: an
// error with a status, from which the interceptors of the client make the same refusal. Another
// error it returns as it is.
//
// The details of the status have one ErrorInfo. Its reason is STALE, MISSING, INVALID, AHEAD or
// DUPLICATE, and its metadata are the members of fencehttp.Problem that are about the claim.
func Error(err error) error {
	if !refused(err) {
		return err
	}
	if errors.Is(err, fence.ErrDuplicate) {
		return withInfo(codes.AlreadyExists, err, &errdetails.ErrorInfo{Reason: reasonDuplicate, Domain: domain})
	}
	p, _ := fencehttp.NewProblem(err)
	return withInfo(codeOf[p.Reason], err, &errdetails.ErrorInfo{
		Reason: strings.ToUpper(string(p.Reason)), Domain: domain, Metadata: members(p),
	})
}

func withInfo(code codes.Code, err error, info *errdetails.ErrorInfo) error {
	s := status.New(code, err.Error())
	if told, err := s.WithDetails(info); err == nil {
		s = told
	}
	return s.Err()
}

// members are those of a problem document that are texts, but for those that a status says
// by itself.
func members(p fencehttp.Problem) map[string]string {
	p.Type, p.Title, p.Detail = "", "", ""
	var all map[string]any
	doc, err := json.Marshal(p)
	if err != nil || json.Unmarshal(doc, &all) != nil {
		return nil
	}
	texts := make(map[string]string)
	for name, member := range all {
		if text, is := member.(string); is && text != "" {
			texts[name] = text
		}
	}
	return texts
}

// refusalOf returns the refusal that a status tells of, which has that status; another error
// it returns as it is.
func refusalOf(err error) error {
	s, has := status.FromError(err)
	if err == nil || !has {
		return err
	}
	for _, detail := range s.Details() {
		info, is := detail.(*errdetails.ErrorInfo)
		if !is || info.Domain != domain {
			continue
		}
		if info.Reason == reasonDuplicate {
			return &refusal{fence.ErrDuplicate, s}
		}
		if refused := problem(info, s.Message()).Err(); refused != nil {
			return &refusal{refused, s}
		}
	}
	return err
}

// problem is the document that an ErrorInfo was made of.
func problem(info *errdetails.ErrorInfo, detail string) (p fencehttp.Problem) {
	if doc, err := json.Marshal(info.Metadata); err != nil || json.Unmarshal(doc, &p) != nil {
		return fencehttp.Problem{}
	}
	p.Type, p.Detail = fencehttp.ProblemType+string(p.Reason), detail
	return p
}

// refusal is the refusal of a call, and the status that told of it.
type refusal struct {
	error
	status *status.Status
}

func (r *refusal) Unwrap() error              { return r.error }
func (r *refusal) GRPCStatus() *status.Status { return r.status }
