package table

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"svc/pkg/fault"
)

// ErrCondition is a write whose condition did not hold and for which the
// operation named no error of its own (Op.Else).
var ErrCondition = errors.New("a condition of the write does not hold")

// ErrConflict is a transaction that met another one on the same item; nothing
// was written. Retry runs the whole step again. TransactionInProgressException
// is none: it says that this very transaction is still being written.
var ErrConflict = errors.New("the write met another one")

// conditions lists which operations of a transaction failed their condition.
type conditions struct{ failed []int }

func (c *conditions) Error() string   { return fmt.Sprintf("conditions %v do not hold", c.failed) }
func (c *conditions) Is(e error) bool { return e == ErrCondition }

// classify turns an error of the SDK into ErrConflict, *conditions, a
// fault.Unavailable for a throttled table, or itself with what was tried.
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
		case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException":
			return fault.Unavailable(fmt.Errorf("%s: %w", what, err))
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// reading is classify for an operation that writes nothing. After one the
// table's own failure and its silence are fault.Unavailable too: nothing can
// have happened, so it is safe to say "try again".
func reading(what string, err error) error {
	if err = classify(what, err); errors.Is(err, fault.Unavailable(nil)) || !outOfReach(err) {
		return err
	}
	return fault.Unavailable(err)
}

// outOfReach says that the table did not answer or failed. A caller who went
// away is neither.
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
	failed, conflict, busy := []int(nil), false, false
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
		}
	}
	switch {
	case conflict: // a condition judged beside a conflict may be judged otherwise after it
		return ErrConflict
	case len(failed) > 0:
		return &conditions{failed: failed}
	case busy:
		return fault.Unavailable(fmt.Errorf("%s: %w", what, err))
	}
	return fmt.Errorf("%s: %w", what, err)
}

const attempts = 8

// Retry runs step, which reads and writes, until it does not end in
// ErrConflict: eight times with growing, jittered pauses, then it is
// fault.Unavailable.
func Retry(ctx context.Context, step func(context.Context) error) error {
	var err error
	for i := range attempts {
		if err = step(ctx); !errors.Is(err, ErrConflict) {
			return err
		}
		pause := time.Duration(rand.Int64N(int64(10*time.Millisecond) << min(i, 5))) //nolint:gosec // jitter is no secret
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return fault.Unavailable(err)
}

func unprocessed(what string, n int) error {
	return fault.Unavailable(fmt.Errorf("%s: %d left unprocessed", what, n))
}
