package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/local/engine"
)

// Loading is the table of a data folder on which no service runs, open for
// loading much data. The folder is locked until Close.
type Loading struct {
	// Endpoint and Table are where the data is, Data the folder's absolute path.
	Endpoint string
	Table    string
	Data     string
	// Streaming says that the table's stream is on: a service has run on the
	// folder, and may have left records that nobody went through. Writes are
	// slower the more records there are.
	Streaming bool

	lock    *os.File
	engine  *engine.Engine
	scratch string // folder in memory that the engine works in, "" for none
}

// LoadingOptions say what to open.
type LoadingOptions struct {
	Data     string // the data folder; empty is DefaultData
	Table    string // its name; empty is DefaultTable
	Template []byte // template.yaml
	// Bytes is about how much is going to be written. Where memory has room
	// for it the engine works there, and what it wrote comes to the folder
	// with Close: all of it, or nothing when this process is killed.
	Bytes int64
}

// OpenLoading starts the engine on the data folder. A table that is missing is
// made without its stream. Errors are those of StartService.
func OpenLoading(ctx context.Context, o LoadingOptions) (l *Loading, err error) {
	if o.Data == "" {
		o.Data = DefaultData
	}
	if o.Table == "" {
		o.Table = DefaultTable
	}
	l = &Loading{Table: o.Table}
	defer func() {
		if err != nil {
			_ = l.Close()
			l = nil
		}
	}()
	if l.Data, err = filepath.Abs(o.Data); err != nil {
		return l, err
	}
	if l.lock, err = lockFolder(l.Data); err != nil {
		return l, err
	}
	if err := l.start(ctx, o.Bytes); err != nil {
		return l, err
	}
	return l, l.open(ctx, o.Template)
}

// start starts the engine: dynoxide in memory where that has room.
func (l *Loading) start(ctx context.Context, bytes int64) (err error) {
	if l.scratch, err = toScratch(l.Data, bytes); err != nil {
		return err
	}
	if l.scratch != "" {
		l.engine, err = engine.Start(ctx, engine.Options{Dir: l.scratch})
		if err == nil && l.engine.Kind == engine.Dynoxide {
			l.Endpoint = l.engine.URL
			return nil
		}
		l.engine.Stop() // another kind has its data elsewhere, and what failed says so of the folder itself
		_ = os.RemoveAll(l.scratch)
		l.scratch = ""
	}
	if l.engine, err = engine.Start(ctx, engine.Options{Dir: l.Data}); err != nil {
		return err
	}
	l.Endpoint = l.engine.URL
	return nil
}

func (l *Loading) open(ctx context.Context, template []byte) error {
	if _, err := EnsureTable(ctx, l.Endpoint, template, TableOptions{Name: l.Table, StreamOff: true}); err != nil {
		return err
	}
	db, _ := clients(l.Endpoint)
	table, err := awaitActive(ctx, db, l.Table)
	if err != nil {
		return err
	}
	l.Streaming = table.StreamSpecification != nil && aws.ToBool(table.StreamSpecification.StreamEnabled)
	return nil
}

// EnableStream switches the table's stream on, now that the data is there.
func (l *Loading) EnableStream(ctx context.Context) error {
	_, err := EnableStream(ctx, l.Endpoint, l.Table)
	return err
}

// DisableStream switches the table's stream off. Whoever calls it has done what
// its records ask for: a stream that is switched on again is another one.
func (l *Loading) DisableStream(ctx context.Context) error {
	db, _ := clients(l.Endpoint)
	_, err := db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &l.Table,
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)}})
	if err != nil {
		return fmt.Errorf("switching the stream of %s off: %w", l.Table, err)
	}
	if _, err = awaitActive(ctx, db, l.Table); err == nil {
		l.Streaming = false
	}
	return err
}

// Close ends the engine, brings what it wrote to the folder, and gives that
// back.
func (l *Loading) Close() (err error) {
	if l.engine != nil {
		l.engine.Stop()
		if l.scratch != "" {
			err = fromScratch(l.scratch, l.Data)
		}
	} else if l.scratch != "" {
		err = os.RemoveAll(l.scratch)
	}
	if l.lock != nil {
		_ = l.lock.Close()
	}
	return err
}
