package e2e_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"svc/internal/test/e2e"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/local/folder"
)

// TestEndToEnd runs the suite on the deployment at SVC_URL. Without that
// variable, it starts `svc dev` and runs the suite there. The scripts of localstack set
// the other variables: SVC_NO_FILES if nothing runs jobs there, SVC_FEW_TOOLS if only rides
// are repeated as tool calls, SVC_RECEIVER for the
// address of the suite's receiver, and SVC_DIAL for the address of LocalStack. Its
// functions know S3 by an address that only containers may reach, and its gateway garbles
// compressed bodies.
func TestEndToEnd(t *testing.T) {
	target := e2e.Target{BaseURL: os.Getenv("SVC_URL"), NoFiles: os.Getenv("SVC_NO_FILES") != "",
		FewTools: os.Getenv("SVC_FEW_TOOLS") != "", Receiver: os.Getenv("SVC_RECEIVER")}
	if text := os.Getenv("SVC_PATIENCE"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("SVC_PATIENCE: %v", err)
		}
		target.Patience = d
	}
	if address := os.Getenv("SVC_DIAL"); address != "" {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		transport.DisableCompression, target.Transport = true, transport
	}
	at := table.Options{Table: os.Getenv("TABLE_NAME"), Endpoint: os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")}
	if target.BaseURL == "" {
		dev := testkit.StartDev(t, "--memory")
		running, err := folder.Find(t.Context(), dev.Data)
		testkit.Must(t, err)
		target.BaseURL, at.Table, at.Endpoint = dev.BaseURL, running.Table, running.Endpoint
		target.Patience = max(target.Patience, 10*time.Minute)
	}
	if at.Table != "" && at.Endpoint != "" {
		var err error
		target.DB, err = table.Open(t.Context(), at)
		testkit.Must(t, err)
	}
	e2e.Run(t, target)
}
