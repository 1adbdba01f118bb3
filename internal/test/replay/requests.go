package replay

import (
	"bytes"
	_ "embed"
	"sync"

	"gopkg.in/yaml.v3"

	"svc/pkg/access/authz"
)

//go:embed requests.yaml
var requestsFile []byte

// Request is a request of requests.yaml, which explains the members.
type Request struct {
	Event, Person, Send, Before, Body, Instead, Keep string
	As                                               authz.Audience
	With, Header                                     map[string]string
}

// Listed is the content of requests.yaml. Each request is also a step, under the name of
// its event.
var Listed = sync.OnceValue(func() (all struct {
	Steps    map[string]Request
	Requests []Request
}) {
	decoder := yaml.NewDecoder(bytes.NewReader(requestsFile))
	decoder.KnownFields(true)
	if err := decoder.Decode(&all); err != nil {
		panic("requests.yaml: " + err.Error())
	}
	for _, r := range all.Requests {
		all.Steps[r.Event] = r
	}
	return all
})
