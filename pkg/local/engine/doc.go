// Package engine runs an embedded DynamoDB engine as a child process.
//
// It owns locating the engine's program, a free loopback port, the child
// process, its data file, and the door: the reverse proxy through which other
// programs reach the engine. It must not know which tables the engine has, and it
// uses no AWS SDK.
//
// It supports two engines. dynoxide is a static binary that starts in
// milliseconds. DynamoDB Local needs Docker or Java, and replaces dynoxide on
// machines for which dynoxide has no build. If AWS_ENDPOINT_URL_DYNAMODB names a running
// engine, the package starts and stops nothing.
package engine
