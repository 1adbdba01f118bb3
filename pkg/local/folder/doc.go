// Package folder owns the data folder of a local service. The folder contains
// the lock, and dev.json, which other commands read to find the running service.
package folder
