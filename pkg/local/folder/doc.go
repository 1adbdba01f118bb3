// Package folder owns two files in the data folder of a local service: the lock,
// and dev.json, which other commands read to find the running service.
package folder
