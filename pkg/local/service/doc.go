// Package service runs the complete service in one process, as `svc dev` does:
// engine, table, functions, stream poller and gateway.
//
// It must not know any resource or rule of the service. The caller passes in
// the functions as Lambda handlers. Routes, table and streams come from
// template.yaml.
package service
