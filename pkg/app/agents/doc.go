// Package agents runs third-party MCP clients against the complete service:
// @modelcontextprotocol/client, the inspector's command line and the
// conformance suite of npm, mcp and fastmcp of PyPI. Each client gets the
// address of the server. Some also get a client id or a key. The clients
// discover the server's endpoints by themselves. For the conformance suite, a
// proxy adds a token. TestMakeRun runs two of the clients against what `make
// run` starts.
package agents
