package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// asCurl makes the test binary behave as curl, for printed commands on a machine
// without curl.
const asCurl = "SVC_TEST_AS_CURL"

// curl sends a request as curl does, with the options -s, -sf, -X, -H and -d, and
// prints the response. It returns the exit code.
func curl(args []string) int {
	method, address, header, data := "", "", http.Header{}, []string(nil)
	after, fail, withBody := "", false, false
	for i := 0; i < len(args); i++ {
		option := args[i]
		if !strings.HasPrefix(option, "-") {
			address = option
			continue
		}
		if option == "-s" || option == "-sS" || option == "-sf" || option == "--fail-with-body" {
			fail = fail || option == "-sf" || option == "--fail-with-body"
			withBody = withBody || option == "--fail-with-body"
			continue
		}
		if i++; i == len(args) {
			fmt.Fprintln(os.Stderr, option, "has no value")
			return 2
		}
		switch option {
		case "-X":
			method = args[i]
		case "-w":
			after = strings.ReplaceAll(args[i], `\n`, "\n")
		case "-d":
			data = append(data, args[i])
		case "-H":
			name, value, _ := strings.Cut(args[i], ":")
			header.Set(name, strings.TrimSpace(value))
		default:
			fmt.Fprintln(os.Stderr, "unknown option", option)
			return 2
		}
	}
	if method == "" && data != nil {
		method = http.MethodPost
	}
	if data != nil && header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	body := strings.NewReader(strings.Join(data, "&"))
	r, err := http.NewRequest(method, address, body) //nolint:noctx // it ends with the program
	if err == nil {
		r.Header = header
		var res *http.Response
		if res, err = http.DefaultTransport.RoundTrip(r); err == nil {
			defer func() { _ = res.Body.Close() }()
			refused := fail && res.StatusCode >= 400
			if !refused || withBody {
				_, err = io.Copy(os.Stdout, res.Body)
			}
			fmt.Print(after)
			if refused {
				return 22
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 7
	}
	return 0
}
