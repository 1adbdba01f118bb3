package fleet_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/config"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/tenant"
)

var by = audit.By{Who: "svc:test", At: apitest.Start}

type office struct {
	*apitest.Stand
	tenant table.Tenant
	token  string
	mails  []string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	db := testkit.Table(t)
	o := &office{Stand: apitest.New(t, db, append(append(fleet.Rows(db), driver.Rows()...), customer.Rows()...)...)}
	made, err := tenant.Store{DB: db}.Create(t.Context(), by, tenant.Tenant{Slug: "metro", Name: "Metro Rides",
		CustomDomain: "ride.metro.example"})
	testkit.Must(t, err)
	o.tenant = db.Tenant(made.ID)
	o.token = o.operator(o.tenant)
	return o
}

func (o *office) operator(t table.Tenant) string {
	return o.Token(t, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_DRIVERS", "CREATE_DRIVERS",
		"VIEW_CUSTOMERS", "CREATE_CUSTOMERS")
}

func TestInvite(t *testing.T) {
	o := newOffice(t)
	testkit.InRounds(t, o.DB)
	o.Server.Mail = func(_ context.Context, to, subject, text string) error {
		o.mails = append(o.mails, to+"\n"+subject+"\n"+text)
		return nil
	}
	for collection, audience := range map[string]authz.Audience{"drivers": authz.Driver, "customers": authz.Rider} {
		o.mails = nil
		path := "/api/v1/" + collection
		body := `{"email":" Lena@Metro.example","firstName":"Lena","phone":"+1 212 555 0184"}`
		var made struct {
			ID, Email, FirstName string
			Disabled             bool
		}
		a := o.Want(http.StatusCreated, &made, "POST", path, o.token, body, "Idempotency-Key", collection)
		if used := o.Last().Usage; used.Sequential != 3 { // one is of the mails before
			t.Errorf("%d round trips in sequence", used.Sequential)
		}
		if made.Email != "Lena@Metro.example" || made.FirstName != "Lena" || made.Disabled {
			t.Errorf("made %+v", made)
		}
		if again := o.Do("POST", path, o.token, body, "Idempotency-Key", collection); again.Body != a.Body {
			t.Errorf("repeated: %s", again.Body)
		}
		link := regexp.MustCompile(`https://ride\.metro\.example/oauth/password\?audience=(driver|rider)&link=\S+&tenant_hint=metro`)
		if len(o.mails) != 1 || !strings.HasPrefix(o.mails[0], "Lena@Metro.example\nMetro Rides: ") ||
			!link.MatchString(o.mails[0]) || strings.Contains(a.Body, "password") {
			t.Errorf("mails %q", o.mails)
		}
		for _, spelled := range []string{"lena@metro.example", "LENA@METRO.EXAMPLE"} {
			again := o.Want(http.StatusConflict, nil, "POST", path, o.token, `{"email":"`+spelled+`","firstName":"L"}`)
			if again.Code() != "invalid_state" {
				t.Errorf("%s: %s", spelled, again.Body)
			}
		}
		l, err := login.Find(t.Context(), o.tenant, audience, "lena@metro.example")
		if testkit.Must(t, err); l.Actor != made.ID || l.Hash != "" || l.Disabled {
			t.Errorf("sign-in row of %s, disabled %t", l.Actor, l.Disabled)
		}
		read := o.Want(http.StatusOK, nil, "GET", path+"/"+made.ID, o.token, "")
		if read.Body != a.Body || read.Header.Get("ETag") != a.Header.Get("ETag") {
			t.Errorf("read %s, made %s", read.Body, a.Body)
		}
	}
	o.mails = nil
	o.Want(http.StatusCreated, nil, "POST", "/api/v1/customers", o.token, `{"email":"b@x.example","name":"B","disabled":true}`)
	o.Want(http.StatusCreated, nil, "POST", "/api/v1/customers", o.token, `{"name":"B","phone":"+1 212 555 0185"}`)
	if len(o.mails) != 0 {
		t.Errorf("a disabled account, or one without an address, was invited: %q", o.mails)
	}
}

// TestInvitationsAreLimited: of invitations at the same time, by two processes, as many
// of one company succeed in an hour as the limit says, of drivers and riders together.
// The others make nobody and mail nothing. Who is not invited by mail does not count.
func TestInvitationsAreLimited(t *testing.T) {
	t.Parallel()
	const most, each = 5, 12
	o := newOffice(t)
	other := newOffice(t)
	var mu sync.Mutex
	mailed := 0
	processes := []*apitest.Stand{o.Stand, apitest.New(t, o.DB, fleet.Rows(o.DB)...)}
	tokens := []string{o.token, processes[1].Token(o.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start),
		"CREATE_DRIVERS", "CREATE_CUSTOMERS")}
	for _, p := range append(processes, other.Stand) {
		p.Server.MailLimits = config.MailLimits{config.MailInvitation: most}
		p.Server.Mail = func(context.Context, string, string, string) error {
			mu.Lock()
			defer mu.Unlock()
			mailed++
			return nil
		}
	}
	hour := func() {
		t.Helper()
		statuses := map[int]int{}
		mailed = 0
		var group sync.WaitGroup
		for i := range each {
			group.Go(func() {
				body := fmt.Sprintf(`{"email":"p%d-%d@x.example","firstName":"P"}`, o.Now().Unix(), i)
				path := "/api/v1/" + []string{"drivers", "customers"}[i/2%2]
				key := fmt.Sprintf("%d-%d", o.Now().Unix(), i)
				a := processes[i%2].Insist("POST", path, tokens[i%2], body, "Idempotency-Key", key)
				mu.Lock()
				defer mu.Unlock()
				statuses[a.Status]++
				if after := a.Header.Get("Retry-After"); a.Status == http.StatusTooManyRequests &&
					(a.Code() != "rate_limited" || after == "" || after == "0") {
					t.Errorf("refused: Retry-After %q, %s", after, a.Body)
				}
			})
		}
		group.Wait()
		if statuses[http.StatusCreated] != most || statuses[http.StatusTooManyRequests] != each-most || mailed != most {
			t.Errorf("statuses %v, %d mails", statuses, mailed)
		}
	}
	hour()
	o.Want(http.StatusCreated, nil, "POST", "/api/v1/customers", o.token, `{"name":"B","phone":"+1 212 555 0185"}`)
	other.Want(http.StatusCreated, nil, "POST", "/api/v1/customers", other.token, `{"email":"b@x.example","name":"B"}`)
	o.Want(http.StatusTooManyRequests, nil, "POST", "/api/v1/drivers", o.token, `{"email":"b@x.example","firstName":"B"}`)
	for _, p := range processes {
		p.Advance(time.Hour - time.Second)
	}
	o.Want(http.StatusTooManyRequests, nil, "POST", "/api/v1/drivers", o.token, `{"email":"b@x.example","firstName":"B"}`)
	for i, p := range processes {
		p.Advance(time.Minute + time.Second) // a mail counts for a minute more at most
		tokens[i] = p.Token(o.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "CREATE_DRIVERS",
			"CREATE_CUSTOMERS")
	}
	hour()
}

// TestDisable: all tokens of a disabled account are refused at once.
func TestDisable(t *testing.T) {
	o := newOffice(t)
	made, err := driver.Create(t.Context(), o.tenant, by, driver.Record{Driver: driver.Driver{FirstName: "Lena",
		Email: "lena@metro.example"}}, "")
	testkit.Must(t, err)
	own, path := o.Token(o.tenant, authz.Driver, made.ID), "/api/v1/drivers/"+made.ID
	online := func(want int) {
		t.Helper()
		o.Want(want, nil, "PATCH", "/api/v1/me/status", own, `{"online":true}`)
	}
	online(http.StatusOK)
	tag := o.Do("GET", path, o.token, "").Header.Get("ETag")
	online(http.StatusOK) // does not change what an operator edits
	var got fleet.ManagedDriver
	a := o.Want(http.StatusOK, &got, "PATCH", path, o.token, `{"disabled":true,"vehiclePlate":"A-1"}`, "If-Match", tag)
	if !got.Disabled || *got.VehiclePlate != "A-1" || got.FirstName != "Lena" || got.Status != driver.Offline {
		t.Errorf("disabled: %s", a.Body)
	}
	online(http.StatusUnauthorized)
	l, err := login.Find(t.Context(), o.tenant, authz.Driver, "lena@metro.example")
	if testkit.Must(t, err); !l.Disabled {
		t.Error("the sign-in is not disabled")
	}
	o.Want(http.StatusPreconditionFailed, nil, "PATCH", path, o.token, `{"disabled":false}`, "If-Match", tag)
	o.Want(http.StatusOK, &got, "PATCH", path, o.token, `{"disabled":false,"vehiclePlate":null}`)
	if got.Disabled || got.VehiclePlate != nil {
		t.Errorf("enabled: %+v", got)
	}
	for body, message := range map[string]string{
		`{"firstName":null}`: "first or last name", `{"email":"x@y.example"}`: "body.email", `{"status":"BUSY"}`: "body.status",
		`{"photoUrl":"http://x"}`: "body.photoUrl", `{"phone":"none"}`: "body.phone", `{"totalTrips":7}`: "body.totalTrips",
	} {
		if a := o.Want(http.StatusBadRequest, nil, "PATCH", path, o.token, body); !strings.Contains(a.Body, message) {
			t.Errorf("%s: %s", body, a.Body)
		}
	}
	stranger := o.operator(o.Stand.Tenant("EUR", 1))
	o.Want(http.StatusNotFound, nil, "GET", path, stranger, "")
	o.Want(http.StatusNotFound, nil, "PATCH", path, stranger, `{"disabled":true}`)
	o.Want(http.StatusNotFound, nil, "GET", path+"/documents", stranger, "")
	o.Want(http.StatusNotFound, nil, "POST", path+"/documents", stranger, `{"kind":"OTHER"}`)
}

// TestPeopleRaces: of two invitations of one address one succeeds, and of two
// changes of one state one.
func TestPeopleRaces(t *testing.T) {
	o := newOffice(t)
	both := func(one func(int) int) map[int]int {
		var group sync.WaitGroup
		var mu sync.Mutex
		counts := map[int]int{}
		for i := range 6 {
			group.Go(func() {
				status := one(i)
				mu.Lock()
				defer mu.Unlock()
				counts[status]++
			})
		}
		group.Wait()
		return counts
	}
	for _, collection := range []string{"customers", "drivers"} {
		path := "/api/v1/" + collection
		made := both(func(int) int {
			return o.Insist("POST", path, o.token, `{"email":"one@metro.example","firstName":"One"}`).Status
		})
		if made[http.StatusCreated] != 1 || made[http.StatusConflict] != 5 {
			t.Errorf("%s invited: %v", collection, made)
		}
		var list struct{ Items []struct{ ID string } }
		o.Want(http.StatusOK, &list, "GET", path, o.token, "")
		if len(list.Items) != 1 {
			t.Fatalf("%s: %d", collection, len(list.Items))
		}
		path += "/" + list.Items[0].ID
		tag := o.Do("GET", path, o.token, "").Header.Get("ETag")
		changed := both(func(i int) int {
			return o.Insist("PATCH", path, o.token, `{"lastName":"`+string(rune('A'+i))+`"}`, "If-Match", tag).Status
		})
		if changed[http.StatusOK] != 1 || changed[http.StatusPreconditionFailed] != 5 {
			t.Errorf("%s changed: %v", collection, changed)
		}
	}
}

func TestDocuments(t *testing.T) {
	o := newOffice(t)
	made, err := driver.Create(t.Context(), o.tenant, by, driver.Record{Driver: driver.Driver{FirstName: "Lena",
		Email: "lena@metro.example"}}, "")
	testkit.Must(t, err)
	path := "/api/v1/drivers/" + made.ID + "/documents"
	var d fleet.DriverDocument
	a := o.Want(http.StatusCreated, &d, "POST", path, o.token,
		`{"kind":"DRIVING_LICENCE","numberLast4":"4711","expiresOn":"2026-03-01"}`)
	if *d.State != "PENDING" || d.Expired || *d.NumberLast4 != "4711" {
		t.Errorf("made %s", a.Body)
	}
	for body, field := range map[string]string{
		`{"kind":"OTHER","numberLast4":"DE12345678"}`: "body.numberLast4", `{"kind":"PASSPORT"}`: "body.kind",
		`{"kind":"OTHER","expiresOn":"2026-02-30"}`: "body.expiresOn", `{}`: "body.kind",
	} {
		if a := o.Want(http.StatusBadRequest, nil, "POST", path, o.token, body); !strings.Contains(a.Body, field) {
			t.Errorf("%s: %s", body, a.Body)
		}
	}
	one := path + "/" + d.ID
	o.Want(http.StatusOK, &d, "PATCH", one, o.token, `{"state":"APPROVED"}`, "If-Match", a.Header.Get("ETag"))
	o.Want(http.StatusPreconditionFailed, nil, "PATCH", one, o.token, `{"state":"REJECTED"}`, "If-Match",
		a.Header.Get("ETag"))
	o.Want(http.StatusBadRequest, nil, "PATCH", one, o.token, `{"kind":null}`)
	o.Want(http.StatusNotFound, nil, "PATCH", path+"/doc_01ARZ3NDEKTSV4RRFFQ69G5FAV", o.token, `{}`)
	o.Want(http.StatusNotFound, nil, "PATCH", path+"/x", o.token, `{}`)
	o.Advance(24 * time.Hour)
	own := o.Token(o.tenant, authz.Driver, made.ID)
	var list struct{ Items []fleet.DriverDocument }
	o.Want(http.StatusOK, &list, "GET", "/api/v1/me/documents", own, "")
	if len(list.Items) != 1 || !list.Items[0].Expired || *list.Items[0].State != "APPROVED" {
		t.Errorf("the driver's own: %+v", list.Items)
	}
}

// TestDriverIsLive: a driver who is read is where the phone reported last.
func TestDriverIsLive(t *testing.T) {
	o := newOffice(t)
	r, err := driver.Create(t.Context(), o.tenant, by, driver.Record{Driver: driver.Driver{FirstName: "Dora",
		Email: "dora@metro.example", Status: driver.Online}}, "hash")
	testkit.Must(t, err)
	var got fleet.ManagedDriver
	read := func() { o.Want(http.StatusOK, &got, http.MethodGet, "/api/v1/drivers/"+r.ID, o.token, "") }
	if read(); got.CurrentLat != nil || got.LocationUpdatedAt != nil {
		t.Errorf("without a report the driver is at %v", got)
	}
	testkit.Must(t, o.tenant.Load(t.Context(), table.Item{Key: driver.LocationKey(o.tenant, r.ID), Type: "location",
		Doc: driver.Location{Lat: "40.7182", Lng: "-74", RecordedAt: "2026-03-01T12:30:00.000Z"}}))
	if read(); got.CurrentLat == nil || *got.CurrentLat != "40.7182" || *got.CurrentLng != "-74" ||
		*got.LocationUpdatedAt != "2026-03-01T12:30:00.000Z" {
		t.Errorf("the driver is at %v", got)
	}
}
