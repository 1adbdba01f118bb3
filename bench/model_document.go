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
		"where the table throttles first, and which changes help. `make model` writes it anew. The simulation is in "+
		"`bench/model`; it has a seed, so each run gives the same result. It is no measurement of DynamoDB.")
	assumptions(&b)
	b.WriteString("## A city's day\n\n")
	prose(&b, "Requests a second are those of all tenants at the busiest time of the day. *Lost* is the share of units "+
		"that could not wait. *Waits* is p99 of what units waited for, in seconds. *Dollars* are the table's of that day, "+
		"its units and its storage. *Breaks first* names the keys that lost the most, whose they are and at which hour they "+
		"began to lose.")
	b.WriteString("| requests a second, shards | rides of the day | partitions | lost: reads, writes | waits | dollars " +
		"| breaks first |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, s := range scales {
		p.simulated(&b, s)
	}
	fmt.Fprintf(&b, "\n## What each change brings\n\n")
	prose(&b, "The day of 100,000 requests a second with 16 shards. Each row changes one more thing.")
	turned(&b, p, turns)
	fmt.Fprintf(&b, "\n## Burst and adaptive capacity\n\n")
	prose(&b, "The service's table is on demand: each partition may use its limit, and saved units cannot lift it above. "+
		"They matter to a provisioned table. In this simulation the table has exactly the units that the busiest time of a "+
		"day of 10,000 requests a second needs, so the concert needs more than it has.")
	turned(&b, p, provisioned)
	validation(&b)
	return b.String()
}

func turned(b *strings.Builder, p prices, all []simulated) {
	b.WriteString("| | rides of the day | partitions | lost: reads, writes | waits | dollars | breaks first |\n" +
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
		fmt.Sprintf("**Documented by AWS.** A partition serves %s read and %s write units a second, independently of each "+
			"other, and holds 10 GB. Unused units are kept for %d s. A new table on demand has four partitions. "+
			"Partitions are split when they are large or hot, and never merged.",
			many(model.MaxReads), many(model.MaxWrites), model.BurstSeconds),
		"**Assumed of DynamoDB**, because no document says it. A hot partition is split after ten minutes of " +
			"throttling, where its halves are most alike. One key is never split. A request waits for units at most a " +
			"second, with the SDK's retries; then it is lost. All copies and shards of a key lie at random hashes.",
		"**Recorded.** The units of each operation at each of its keys are those that `make ceilings` counted last, " +
			"for 1, 4 and 16 shards (`bench/testdata/traces.json`). A ride includes its settlement and its projection. So " +
			"are the bytes that a ride leaves. An index has all attributes of its items.",
		"**Assumed of the load.** There are 50 tenants; one has ten times the requests of each other. For each ride " +
			"there are " + mix() + ". The day has a small peak at 8:00 and a large one at 18:30. At 22:30 a concert ends: " +
			"for twenty minutes the largest tenant gets twice its own peak on top. A billion trips are stored before, and " +
			"the table has only the partitions that they need. So at a million requests a second it loses from the " +
			"first minutes on, until it has split.",
		"**Assumed of the stream.** Lambda handles four batches of each of the table's partitions at a time, each of " +
			"at most 100 records, and each second. The records of a tenant in one batch change a counter once.",
		"**Left out.** The limits of Lambda, of the API Gateway and of the account; the 40,000 units a second that an " +
			"account's table may use unless AWS raises it; other applications; noise within ten seconds; hedging and " +
			"retries by clients.",
	} {
		bullet(b, line)
	}
	const guide = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
	b.WriteString("\n| what AWS documents | page |\n| --- | --- |\n")
	for _, page := range [][2]string{
		{"what is saved and lent", guide + "burst-adaptive-capacity.html"},
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
	prose(b, "Nothing that throttles. DynamoDB Local does not: a table of one read and one write unit served all of 500 "+
		"writes and 500 reads at once, without a refusal, as its usage notes say. "+
		"A test repeats this on DynamoDB Local; if it fails one day, the model can be compared with it. Until then only "+
		"unit tests hold the model: units are neither made nor lost, splits keep every key, saved units carry as "+
		"far as they were saved, and a list carries a thousand writes a second for each shard. To compare it with "+
		"DynamoDB, drive one key of a table in an account to 1,500 writes a second for a minute: the model says that "+
		"a third of the writes is lost.")
}
