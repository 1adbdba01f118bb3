package main

import "github.com/spf13/cobra"

// commands are all commands of svc, in the order of its help. Each has its own
// file.
var commands = []func(*cli) *cobra.Command{
	devCommand,
	logsCommand,
	initCommand,
	statusCommand,
	doctorCommand,
	tenantCommand,
	memberCommand,
	driverCommand,
	riderCommand,
	serviceCommand,
	zoneCommand,
	businessCommand,
	orderCommand,
	tripCommand,
	walletCommand,
	paymentCommand,
	auditCommand,
	personCommand,
	clientCommand,
	tokenCommand,
	keysCommand,
	feedbackCommand,
	verifyCommand,
	rebuildCommand,
	restoreCommand,
	seedCommand,
	dlqCommand,
	demoCommand,
}
