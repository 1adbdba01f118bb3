// Package agents runs third-party MCP clients against the complete service:
// @modelcontextprotocol/client, the inspector's command line and the
// conformance suite of npm, mcp and fastmcp of PyPI. Each is given the address
// of the server and nothing else, except the conformance suite, which gets a
// token. TestMakeRun runs two of them against what `make run` starts.
package agents
