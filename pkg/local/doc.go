// Package local is what only a developer's machine needs: the table on an
// embedded engine, the stream poller that stands for Lambda's event source
// mapping, and the service that `svc dev` runs.
//
// It owns the data folder: its lock, dev.json, the checkpoints of the stream
// functions and their dead letters. It must not know any resource or rule of
// the service: functions come in as Lambda handlers, the table and the streams
// are read from template.yaml. Nothing that is deployed imports it.
package local
