package api

import (
	"errors"

	"github.com/toolgate/toolgate/internal/decision"
)

// RequestError says why a request is no question that the decision point can
// be asked.
type RequestError struct {
	// Reason is bad_request or limit_exceeded.
	Reason decision.Reason
	// Denied tells a well-formed AuthZEN question that no policy can say yes to
	// (an unknown type of resource, an action that does not fit) from a
	// malformed one. The first is answered with HTTP 200 and "decision": false.
	Denied bool
	// Message is what is wrong and what to write. Text of the request in it is
	// quoted.
	Message string
}

// Error implements error.
func (e *RequestError) Error() string { return "api: " + e.Message }

// Refusal is the decision that a request gets for err from DecodeEvaluation.
// An error of another kind is an internal_error.
func Refusal(req *decision.Request, err error) decision.Decision {
	guard := decision.GuardTool
	if req != nil {
		guard = req.Resource.Kind.Guard()
	}
	if bad, ok := errors.AsType[*RequestError](err); ok {
		return decision.Refuse(bad.Reason, guard, bad.Message)
	}
	return decision.Refuse(decision.InternalError, guard, err.Error())
}

func malformed(message string) *RequestError {
	return &RequestError{Reason: decision.BadRequest, Message: message}
}

func denied(message string) *RequestError {
	return &RequestError{Reason: decision.BadRequest, Denied: true, Message: message}
}

func tooMuch(message string) *RequestError {
	return &RequestError{Reason: decision.LimitExceeded, Message: message}
}
