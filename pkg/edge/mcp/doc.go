// Package mcp owns the MCP server: the endpoint that agents use (Model Context
// Protocol, revision 2026-07-28 and the older ones back to 2025-03-26).
//
// Every operation of the API is a tool. Names, texts and schemas come from the
// rows that also make the OpenAPI document. A call runs the row's own pipeline
// in this process: the same checks, the same handler, the same round trips. The
// server keeps no session.
//
// The package must not know any resource of the domain.
package mcp
