// Package machine owns the machines of a company: programs that sign in as themselves, by
// the client_credentials grant. A machine is a member that is no person. The access checks
// read its item (authz.IsMachine); pkg/oauth/tokens issues its tokens. The package must not
// know how a client authenticates.
package machine
