// Package schema creates the table that template.yaml describes on a local
// engine, and switches its stream on and off.
//
// It must not know what the items of the table mean.
package schema
