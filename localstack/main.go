package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"svc"
	"svc/internal/test/replay"
	"svc/pkg/edge/gateway/emulator"
)

// bucket is the S3 bucket with the zips and the template, and templateKey is the key of
// the template. stackName is the name of the CloudFormation stack.
const (
	bucket      = "svc-functions"
	templateKey = "template.json"
	stackName   = "svc"
)

func main() {
	endpoint := flag.String("endpoint", "http://localhost:4566", "`URL` of LocalStack")
	arch := flag.String("arch", runtime.GOARCH, "`processor` of the machine that runs the functions: amd64 or arm64")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: localstack [flags] template | import | deploy | certificate | forward FROM TO\n\n"+
			"template prints the template for LocalStack.\n"+
			"import prints the template of a new stack that takes over a restored table.\n"+
			"deploy builds and deploys to LocalStack, and prints the variables for svc and the tests as lines of NAME=value.\n"+
			"certificate prints the certificate of the receiver of webhooks, for the functions to trust.\n"+
			"forward forwards TCP connections from the address FROM to the address TO.")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch flag.Arg(0) {
	case "template":
		err = printTemplate(*arch)
	case "deploy":
		err = deploy(ctx, localstack{strings.TrimSuffix(*endpoint, "/"), &http.Client{Timeout: 5 * time.Minute}}, *arch)
	case "import":
		err = printImport()
	case "certificate":
		err = printCertificate()
	case "forward":
		if flag.NArg() != 3 {
			flag.Usage()
			os.Exit(2)
		}
		err = forward(ctx, flag.Arg(1), flag.Arg(2))
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "localstack:", err)
		os.Exit(1)
	}
}

// codeLocation returns where deploy uploads the functions' zips. It returns an error if
// arch is not amd64 or arm64. It omits the function of CodeDeploy's hook (see isHook),
// which is not deployed.
func codeLocation(arch string) (code, error) {
	at := code{bucket: bucket, keys: map[string]string{}, architecture: map[string]string{"amd64": "x86_64",
		"arm64": "arm64"}[arch]}
	if at.architecture == "" {
		return at, fmt.Errorf("-arch %s: expected amd64 or arm64", arch)
	}
	doc, err := emulator.Decode(svc.Template)
	for name, r := range member(doc, "Resources") {
		if resource, _ := r.(object); resource["Type"] == "AWS::Serverless::Function" && !isHook(resource) {
			at.keys[name] = folder(name) + ".zip"
		}
	}
	return at, err
}

// folder returns the name of a function's folder below functions/. function is its name
// in template.yaml.
func folder(function string) string { return strings.ToLower(strings.TrimSuffix(function, "Function")) }

// printTemplate prints the template for LocalStack.
func printTemplate(arch string) error {
	at, err := codeLocation(arch)
	if err != nil {
		return err
	}
	doc, err := derive(svc.Template, at)
	if err != nil {
		return err
	}
	return printJSON(doc)
}

// printImport prints the template with which ops/restore makes a stack around
// a restored table.
func printImport() error {
	doc, err := imported(svc.Template)
	if err != nil {
		return err
	}
	return printJSON(doc)
}

// printCertificate prints the certificate of the webhook receiver in the end-to-end
// suite. The receiver is a server of net/http/httptest, and all these servers have the
// same certificate.
func printCertificate() error {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	return pem.Encode(os.Stdout, &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// printJSON prints a template as indented JSON.
func printJSON(doc object) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

// deploy builds the functions, replaces the stack, creates the signing keys, and prints
// the variables for svc and the tests.
func deploy(ctx context.Context, l localstack, arch string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	at, err := codeLocation(arch)
	if err != nil {
		return err
	}
	dir, err := build(ctx, arch)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := l.bucket(ctx, bucket); err != nil {
		return err
	}
	for name, key := range at.keys {
		zipped, err := pack(filepath.Join(dir, folder(name)))
		if err != nil {
			return err
		}
		if err := l.upload(ctx, bucket, key, zipped); err != nil {
			return err
		}
	}
	template, err := derive(svc.Template, at)
	if err != nil {
		return err
	}
	base := l.endpoint + "/_aws/execute-api/" + apiID + "/" + stage
	out, err := l.create(ctx, stackName, template, map[string]string{"BaseUrl": base, "DeletionProtection": "false"})
	if err != nil {
		return err
	}
	if err := l.invoke(ctx, out["KeysFunction"]); err != nil { // create the signing keys now, not when the schedule fires
		return err
	}
	fmt.Printf("SVC_URL=%s\nBASE_URL=%s\nTABLE_NAME=%s\nKEY_ID=%s\n"+
		"SETTLEMENT_DEAD_LETTERS=%s\nPROJECTION_DEAD_LETTERS=%s\n"+
		"AWS_ENDPOINT_URL=%s\nAWS_ENDPOINT_URL_DYNAMODB=%s\nAWS_REGION=%s\n"+
		"AWS_ACCESS_KEY_ID=test\nAWS_SECRET_ACCESS_KEY=test\n",
		base, base, out["TableName"], out["KeyId"], out["SettlementDeadLettersUrl"], out["ProjectionDeadLettersUrl"],
		l.endpoint, l.endpoint, region)
	return nil
}

// build builds every function for the processor arch into a new folder, and returns the
// folder.
func build(ctx context.Context, arch string) (string, error) {
	dir, err := os.MkdirTemp("", "svc-functions-")
	if err != nil {
		return "", err
	}
	return dir, replay.Build(ctx, replay.Builds{Arch: arch}, dir)
}

// pack returns a zip with the program as the file bootstrap, as Lambda expects it. The
// same program always produces the same zip.
func pack(program string) ([]byte, error) {
	text, err := os.ReadFile(program) //nolint:gosec // a program that it has just built
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	h := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	h.SetMode(0o755)
	f, err := w.CreateHeader(h)
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}
