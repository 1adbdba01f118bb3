package main

import "github.com/spf13/cobra"

// commands are all of svc, in the order of its help. Each is in a file of its
// own.
var commands = []func(*cli) *cobra.Command{
	devCommand,
	tenantCommand,
	memberCommand,
	driverCommand,
	riderCommand,
	serviceCommand,
	zoneCommand,
	businessCommand,
	orderCommand,
	paymentCommand,
	auditCommand,
	personCommand,
	tokenCommand,
	keysCommand,
	feedbackCommand,
	rebuildCommand,
	seedCommand,
	dlqCommand,
	demoCommand,
}
