package main

import "github.com/spf13/cobra"

// commands are the constructors of the top-level commands. The help lists the
// commands by name.
var commands = []func(*cli) *cobra.Command{
	devCommand,
	logsCommand,
	initCommand,
	statusCommand,
	doctorCommand,
	tenantCommand,
	memberCommand,
	driverCommand,
	exportCommand,
	riderCommand,
	serviceCommand,
	zoneCommand,
	businessCommand,
	orderCommand,
	tripCommand,
	walletCommand,
	paymentCommand,
	auditCommand,
	eventsCommand,
	listenCommand,
	triggerCommand,
	webhookCommand,
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
	versionCommand,
}
