// Package engine runs an embedded DynamoDB engine as a child process.
//
// It owns finding the engine's program, a free loopback port, the child's
// life and its data file. It must not know what tables the engine holds, and
// it uses no AWS SDK.
//
// Two engines are known: dynoxide, a static binary that starts in
// milliseconds, and DynamoDB Local, which wants Java and stands in wherever
// dynoxide has no build. AWS_ENDPOINT_URL_DYNAMODB names an engine that runs
// already; then nothing is started and nothing is stopped.
package engine
