package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"svc/bench/model"
)

// modelDocument returns the page about the simulations.
func modelDocument(p prices, scales, turns, provisioned []simulated) string {
	var b strings.Builder
	b.WriteString("# A model of the table at scale\n\n")
	prose(&b, "Nobody has run this service with a million requests a second. This page shows what a simulation says: "+
		"where the table throttles most, and which changes help. `make model` writes this page. The simulation is in "+
		"`bench/model`. Its random numbers have a fixed seed, so each run gives the same result. It does not measure "+
		"DynamoDB.")
	assumptions(&b)
	b.WriteString("## A city's day\n\n")
	prose(&b, "Requests a second are those of all tenants at the busiest time of the day, without the concert. *Lost* "+
		"is the share of units whose requests failed, because these requests could wait no longer. *Waits* is the p99 of "+
		"the time that units waited, in seconds. *Dollars* is the price of the table for that day, for its units and its "+
		"storage. *Lost most at* names at most two kinds of keys: those that lost the most units. It also names the "+
		"tenant to which they belong, and the time at which they began to lose units.")
	b.WriteString("| requests a second, shards | rides of the day | partitions | lost: reads, writes | waits | dollars " +
		"| lost most at |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, s := range scales {
		p.simulated(&b, s)
	}
	fmt.Fprintf(&b, "\n## What each change brings\n\n")
	prose(&b, "The day of 100,000 requests a second with 16 shards. The second row switches the splits of hot "+
		"partitions off. The rows after it leave the splits on. Each of them adds one more change to those above it.")
	turned(&b, p, turns)
	fmt.Fprintf(&b, "\n## Burst and adaptive capacity\n\n")
	prose(&b, "The service's table is on demand: each partition may always use its full limit, and saved units "+
		"cannot raise this limit. Saved units matter only for a provisioned table. In this simulation the table has "+
		"exactly the units that the busiest time of a day of 10,000 requests a second needs. The concert at the end of "+
		"the day needs more.")
	turned(&b, p, provisioned)
	validation(&b)
	return b.String()
}

func turned(b *strings.Builder, p prices, all []simulated) {
	b.WriteString("| | rides of the day | partitions | lost: reads, writes | waits | dollars | lost most at |\n" +
		"| --- | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, s := range all {
		p.simulated(b, s)
	}
}

// simulated writes the row of a day.
func (p prices) simulated(b *strings.Builder, s simulated) {
	partitions := many(s.Before)
	if s.Then != s.Before {
		partitions += " → " + many(s.Then)
	}
	var hot []string
	for _, h := range s.Hot[:min(2, len(s.Hot))] {
		hot = append(hot, fmt.Sprintf("`%s` of the %s, %02d:%02d", h.Shape, map[string]string{"largest": "largest tenant",
			"others": "other tenants", "all": "whole platform"}[h.Tenant], int(h.First), int(h.First*60)%60))
	}
	dollars := (s.Asked.Reads*p.ReadUnits+s.Asked.Writes*p.WriteUnits)/1e6 + s.Bytes/1e9*p.StoredGBMonth/30
	fmt.Fprintf(b, "| %s | %s | %s | %s, %s | %.2f | %s | %s |\n", s.title, many(int(s.Rides)), partitions,
		percent(s.Throttled.Reads, s.Asked.Reads), percent(s.Throttled.Writes, s.Asked.Writes), s.P99, many(int(dollars)),
		strings.Join(hot, "; "))
}

func percent(part, whole float64) string {
	switch {
	case part == 0:
		return "0"
	case part/whole < 0.0001:
		return "< 0.01 %"
	}
	return fmt.Sprintf("%.2f %%", part/whole*100)
}

func assumptions(b *strings.Builder) {
	b.WriteString("## What it assumes\n\n")
	for _, line := range []string{
		fmt.Sprintf("**Documented by AWS.** A partition serves %s read and %s write units a second, independently of "+
			"each other, and holds 10 GB. Unused units are kept for %d s. A new table on demand has four partitions. "+
			"DynamoDB splits partitions that are large or hot, and never merges them.",
			many(model.MaxReads), many(model.MaxWrites), model.BurstSeconds),
		"**Assumed of DynamoDB**, because no document describes it. A hot partition is split after ten minutes of " +
			"throttling, at the point where the loads of its halves differ least. One key is never split. A request " +
			"waits for units at most a second, including the retries of the table's client; then it is lost. The copies " +
			"and shards of a key have random hashes.",
		"**Recorded.** The last `make ceilings` counted the units of each operation at each of its keys, for 1, 4 and " +
			"16 shards (`bench/testdata/traces.json`). A ride includes its settlement and its projection. The bytes that " +
			"a ride stores were recorded too. An index contains all attributes of its items.",
		"**Assumed of the load.** There are 50 tenants; one of them sends ten times as many requests as each of the " +
			"others. For each ride there are " + mix() + ". The day has a small peak at 8:00 and a large one at 18:30. " +
			"At 22:30 a concert ends: for twenty minutes the largest tenant gets twice its own peak in addition. A " +
			"billion trips are stored before the day begins, and the table has only the partitions that their bytes need. " +
			"So at a million requests a second the table loses units from the first minutes on, until DynamoDB has split " +
			"enough partitions.",
		"**Assumed of the stream.** Lambda handles four batches of each partition of the table at a time. A batch has " +
			"the records of one second, at most 100. The records of a tenant in one batch change a counter once.",
		"**Left out.** The limits of Lambda, of the API Gateway and of the account; the default limit of 40,000 units a " +
			"second for each table, which AWS raises on request; other applications; noise within ten seconds; hedging " +
			"and retries by clients.",
	} {
		bullet(b, line)
	}
	const guide = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
	b.WriteString("\n| what AWS documents | page |\n| --- | --- |\n")
	for _, page := range [][2]string{
		{"burst and adaptive capacity", guide + "burst-adaptive-capacity.html"},
		{"the limits of a partition", guide + "bp-partition-key-design.html"},
		{"how many partitions a table begins with", guide + "warm-throughput-scenarios.html"},
		{"when partitions are split", "https://aws.amazon.com/blogs/database/" +
			"part-3-scaling-dynamodb-how-partitions-hot-keys-and-split-for-heat-impact-performance/"},
		{"DynamoDB Local ignores provisioned units", guide + "DynamoDBLocal.UsageNotes.html"},
	} {
		fmt.Fprintf(b, "| %s | <%s> |\n", page[0], page[1])
	}
	b.WriteByte('\n')
}

// mix describes how often each operation of City happens for each ride.
func mix() string {
	var parts []string
	for _, s := range model.City {
		parts = append(parts, fmt.Sprintf("%g × %s", s.Of, marked(s.Name)))
	}
	return strings.Join(parts, ", ")
}

// bullet writes an item of a list, in lines of at most 99 columns.
func bullet(b *strings.Builder, text string) {
	line := "-"
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 99 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

func validation(b *strings.Builder) {
	b.WriteString("\n## What it was compared with\n\n")
	prose(b, "Nobody has compared the model with an engine that throttles. DynamoDB Local does not throttle, as its "+
		"usage notes say: a table of one read and one write unit served 500 writes and 500 reads, one right after the "+
		"other, and rejected none. A test repeats this on DynamoDB Local. If this test fails one day, the model can be "+
		"compared with DynamoDB Local. Until then only unit tests check the model: all units are served, wait or are "+
		"throttled; splits keep every key; no more saved units are used than were saved; and a list accepts a thousand "+
		"writes a second for each shard. To compare the model with DynamoDB, write one key of a table in AWS 1,500 "+
		"times a second for a minute. The model says that a third of the writes is lost.")
}
