package loading

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"svc/pkg/local/engine"
	"svc/pkg/local/folder"
	"svc/pkg/local/schema"
)

// Loading is the table of a data folder without a running service, open for
// bulk loading. The folder is locked until Close.
type Loading struct {
	// Endpoint and Table locate the data; Data is the folder's absolute path.
	Endpoint string
	Table    string
	Data     string
	// Streaming means that the table's stream is on: a service has run on the
	// folder. The stream may have records that no function has processed. Bulk
	// writes are slower while the stream is on.
	Streaming bool

	lock    *os.File
	engine  *engine.Engine
	scratch string // the engine's working folder in memory, "" for none
}

// Options configure Open.
type Options struct {
	Data     string // the data folder; empty is folder.Default
	Table    string // the table's name; empty is schema.DefaultName
	Template []byte // template.yaml
	// Bytes is the approximate size of the data to write. If it fits into
	// memory, the engine works there, and Close copies the data to the folder.
	// The copy is complete, or absent if this process is killed.
	Bytes int64
}

// Open starts the engine on the data folder. It creates a missing table
// without its stream. It fails if the folder is in use, a data file is broken,
// or the engine does not start.
func Open(ctx context.Context, o Options) (l *Loading, err error) {
	o.Data, o.Table = cmp.Or(o.Data, folder.Default), cmp.Or(o.Table, schema.DefaultName)
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
	if l.lock, err = folder.Lock(l.Data); err != nil {
		return l, err
	}
	if err := l.start(ctx, o.Bytes); err != nil {
		return l, err
	}
	return l, l.open(ctx, o.Template)
}

// start starts the engine. If the data fits into memory, dynoxide works there. bytes is
// the approximate size of the data to write.
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
		// Another engine cannot use the copy. After an error of dynoxide, the next
		// start returns an error that names the data folder instead of the copy.
		l.engine.Stop()
		_ = os.RemoveAll(l.scratch)
		l.scratch = ""
	}
	if l.engine, err = engine.Start(ctx, engine.Options{Dir: l.Data}); err != nil {
		return err
	}
	l.Endpoint = l.engine.URL
	return nil
}

// open creates a missing table without a stream, and sets Streaming.
func (l *Loading) open(ctx context.Context, template []byte) error {
	if _, err := schema.EnsureTable(ctx, l.Endpoint, template, schema.Options{Name: l.Table,
		StreamOff: true}); err != nil {
		return err
	}
	var err error
	l.Streaming, err = schema.Streaming(ctx, l.Endpoint, l.Table)
	return err
}

// EnableStream switches the table's stream on after loading.
func (l *Loading) EnableStream(ctx context.Context) error {
	_, err := schema.EnableStream(ctx, l.Endpoint, l.Table)
	return err
}

// DisableStream switches the table's stream off. The caller must first process
// the stream's records, because EnableStream creates a new stream without them.
func (l *Loading) DisableStream(ctx context.Context) error {
	err := schema.DisableStream(ctx, l.Endpoint, l.Table)
	l.Streaming = l.Streaming && err != nil
	return err
}

// Close stops the engine, copies its data to the folder if the engine worked in
// memory, and unlocks the folder.
func (l *Loading) Close() (err error) {
	if l.engine != nil {
		l.engine.Stop()
		if l.scratch != "" {
			err = fromScratch(context.Background(), l.scratch, l.Data, os.Rename)
		}
	} else if l.scratch != "" {
		err = os.RemoveAll(l.scratch)
	}
	if l.lock != nil {
		_ = l.lock.Close()
	}
	return err
}
