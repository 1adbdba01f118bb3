package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/pkg/data/table"
)

const agentsBegin, agentsEnd = "<!-- agents: begin -->", "<!-- agents: end -->"

// line is the pair's line of the table.
func (b beside) line() string {
	request, call := series{all: b.rounds}.median(0), series{all: b.rounds}.median(1)
	low, middle, high := b.more()
	either := func(of func(u table.Usage) string) string {
		if first, second := of(b.usages[0]), of(b.usages[1]); first != second {
			return first + " and " + second
		}
		return of(b.usages[0])
	}
	return fmt.Sprintf("| %s | `%s` | %s | %s | %s | %s | %s (%s–%s) | %s | %s |\n",
		marked(b.request.title()), b.call.tool.row.ID, ms(request.cpu), ms(call.cpu), many(int(request.mallocs)),
		many(int(call.mallocs)), ms(middle), ms(low), ms(high),
		either(func(u table.Usage) string { return strconv.Itoa(u.Sequential) }),
		either(func(u table.Usage) string {
			return fmt.Sprintf("%s + %s", units(u.ReadUnits), units(u.WriteUnits+u.IndexUnits))
		}))
}

// agentsDocument writes the table of tool calls into the document.
func agentsDocument(o options, machine string, all []beside) error {
	var b strings.Builder
	b.WriteString("## A tool call beside the same request\n\n")
	prose(&b, "Measured by `make cpu` on %s; %s; as in *Processor time*. The request to the API and the tool call of "+
		"the MCP server that does the same took turns in %d rounds of %d events. *More* is the additional time of the "+
		"tool call: the median of the rounds and, in parentheses, the quartiles. A POST request has an "+
		"`Idempotency-Key`, because its tool call has one. A call that needs a confirmation is measured after the "+
		"person has confirmed it. *Round trips* are requests to the table that wait for each other. *Units* are read + "+
		"write units. One value in these two columns means that request and tool call have the same value.",
		machine, time.Now().UTC().Format("2 January 2006"), o.rounds, o.reads)
	b.WriteString("| request | tool | request, ms | tool, ms | request, allocations | tool, allocations | more, ms | " +
		"round trips | units |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, one := range all {
		b.WriteString(one.line())
	}
	b.WriteByte('\n')
	return writeSection(o.document, agentsBegin, agentsEnd, b.String())
}
