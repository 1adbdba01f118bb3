package table

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"svc/pkg/base/fault"
)

// ErrCondition means that the condition of an operation failed, and that no
// error was set for the operation with Op.Else.
var ErrCondition = errors.New("a condition of the write does not hold")

// ErrConflict means that another write changes or has changed the same item;
// nothing was written. The caller must read the item again and repeat the
// write, as Retry does. If a request ends with this error nevertheless, its
// response is the 503 of fault.Unavailable. TransactionInProgressException is
// not a conflict: the table is still writing this same transaction.
var ErrConflict error = conflict{}

// Overtaken reports whether a transaction wrote nothing because of another write: a
// condition failed, or the writes conflict.
func Overtaken(err error) bool { return errors.Is(err, ErrCondition) || errors.Is(err, ErrConflict) }

type conflict struct{}

func (conflict) Error() string { return "the write conflicts with another write of the same item" }

// As makes fault.Of return fault.Unavailable.
func (c conflict) As(target any) bool {
	f, ok := target.(**fault.Error)
	if ok {
		*f = fault.Unavailable(c)
	}
	return ok
}

// ErrData means that the data of an item makes the work on it fail, so that no
// retry can succeed until somebody corrects the item. The table returns it for a
// write that does not fit the item, such as an addition to a text.
var ErrData = errors.New("the data of an item is wrong")

// conditions lists the operations of a transaction whose condition failed.
type conditions struct{ failed []int }

func (c *conditions) Error() string   { return fmt.Sprintf("conditions %v do not hold", c.failed) }
func (c *conditions) Is(e error) bool { return e == ErrCondition }

// classify turns an SDK error into ErrConflict, *conditions, or
// fault.Unavailable for a throttled table. It wraps any other error with what,
// the name of the operation. A conflict counts before a failed condition of the same
// transaction: DynamoDB may have evaluated the condition on old data.
func classify(what string, err error) error {
	if err == nil {
		return nil
	}
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		return cancellation(what, cancelled, err)
	}
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return &conditions{failed: []int{0}}
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "TransactionConflictException":
			return ErrConflict
		case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded",
			"LimitExceededException":
			return fault.Unavailable(fmt.Errorf("%s: %w", what, err))
		case "ValidationException":
			if misfit.MatchString(api.ErrorMessage()) {
				return fmt.Errorf("%s: %w: %w", what, ErrData, err)
			}
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// misfit matches the messages for a write that does not fit its item. DynamoDB
// cancels the transaction for it; DynamoDB Local rejects the request. Other
// messages are about the request itself.
var misfit = regexp.MustCompile(`(?i)incorrect data type|item size|number overflow|nesting level|type mismatch for attribute`)

// readError is classify for an operation that writes nothing. A failure or
// timeout of the table is also fault.Unavailable: nothing was written, so the
// caller can safely retry.
func readError(what string, err error) error {
	if err = classify(what, err); errors.Is(err, fault.Unavailable(nil)) || !outOfReach(err) {
		return err
	}
	return fault.Unavailable(err)
}

// writing is classify for a transaction. If an attempt may have been executed
// and no later attempt shows the result, the error is fault.OutcomeUnknown. A
// failed condition shows that no earlier attempt was executed. A conflict does
// not show it: the earlier attempt may still arrive and be executed. If
// no attempt was executed, because the table was throttled or could not be
// reached, the error is fault.Unavailable. If the caller disconnected, the
// error is the context's, and the result is not known.
func writing(what string, err error, o *outcome) error {
	err = classify(what, err)
	switch {
	case err == nil, errors.Is(err, ErrCondition), errors.Is(err, context.Canceled):
		return err
	case o.unknown.Load() && errors.Is(err, ErrConflict): // the result must not match ErrConflict
		return fault.OutcomeUnknown(errors.New("after an attempt of unknown outcome: " + err.Error()))
	case errors.Is(err, ErrConflict):
		return err
	case o.unknown.Load(), inProgress(err):
		return fault.OutcomeUnknown(err)
	case outOfReach(err) && !errors.Is(err, fault.Unavailable(nil)):
		return fault.Unavailable(err)
	}
	return err
}

// inProgress reports whether the table is still writing this same transaction.
func inProgress(err error) bool {
	var e *types.TransactionInProgressException
	return errors.As(err, &e)
}

// outOfReach reports whether the table did not respond, or responded with a
// 5xx. It returns false if the caller disconnected.
func outOfReach(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	var unsent *smithyhttp.RequestSendError
	var failed *smithyhttp.ResponseError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &unsent):
		return true
	case errors.As(err, &failed):
		return failed.HTTPStatusCode() >= http.StatusInternalServerError
	}
	return false
}

func cancellation(what string, cancelled *types.TransactionCanceledException, err error) error {
	failed, conflict, busy, unfit := []int(nil), false, false, false
	for i, reason := range cancelled.CancellationReasons {
		if reason.Code == nil {
			continue
		}
		switch *reason.Code {
		case "ConditionalCheckFailed":
			failed = append(failed, i)
		case "TransactionConflict":
			conflict = true
		case "ThrottlingError", "ProvisionedThroughputExceeded":
			busy = true
		case "ValidationError", "ItemCollectionSizeLimitExceeded":
			unfit = true
		}
	}
	switch {
	case conflict: // if a transaction reports both, treat it as a conflict and retry
		return ErrConflict
	case len(failed) > 0:
		return &conditions{failed: failed}
	case busy:
		return fault.Unavailable(fmt.Errorf("%s: %w", what, err))
	case unfit:
		return fmt.Errorf("%s: %w: %w", what, ErrData, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

const tries = 8

// Retry runs step, which reads and writes, until step does not return
// ErrConflict. It pauses between attempts, for a random time of at most 10 ms at
// first and 320 ms later. After eight attempts, or if the deadline passes in a
// pause, Retry returns fault.Unavailable. If the caller disconnects in a pause,
// it returns the context's error.
func Retry(ctx context.Context, step func(context.Context) error) error {
	var err error
	for i := range tries {
		if err = step(ctx); !errors.Is(err, ErrConflict) {
			return err
		}
		pause := time.Duration(rand.Int64N(int64(10*time.Millisecond) << min(i, 5))) //nolint:gosec // jitter is no secret
		select {
		case <-ctx.Done():
			return outOfTime(ctx, err)
		case <-time.After(pause):
		}
	}
	return fault.Unavailable(err)
}

// outOfTime returns the error for a context that ended between two attempts.
// The earlier attempts wrote nothing. If the deadline passed, the error is
// fault.Unavailable. If the caller disconnected, it is the context's error.
func outOfTime(ctx context.Context, err error) error {
	if ctxErr := ctx.Err(); !errors.Is(ctxErr, context.DeadlineExceeded) {
		return ctxErr
	}
	return fault.Unavailable(err)
}

// unprocessed returns a 503: DynamoDB did not process n items of the batch request that what
// names.
func unprocessed(what string, n int) error {
	return fault.Unavailable(fmt.Errorf("%s: the table left %d items unprocessed", what, n))
}
