package jobs_test

import (
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/trip"
	"svc/pkg/edge/api"
)

// TestImportWithMap: the job reads UTF-16, takes the columns from map, joins an address of
// two cells, and names the faults. A map that cannot be read is a 400.
func TestImportWithMap(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	anna := s.Rider(t, "metro", "anna")
	file := utf16le("Nr;Wann;Straße;Ort;Lat;Lng;Zahlung;Betrag;Stand\r\n" +
		"1;01.03.2024 8:00;Hauptstr. 5;Berlin;52,5;13,4;2;1.234,50;Storniert\r\n" +
		"2;01.03.2024 8:00;Hauptstr. 5;Berlin;52,5;13,4;2;12,50;\r\n" +
		"3;01.03.2024 8:00;Hauptstr. 5;;52,5;13,4;1;;CANCELED\r\n")
	body := `{"kind":"trips","decimal":"comma","dates":"dmy","map":["tripId=taxi {Nr}","requestedAt=Wann",
		"originAddress={Straße}, {Ort}","originLat=lat","originLng=LNG","paymentType={Zahlung|1=CARD|2=CASH}",
		"email:=` + anna.Email + `"]}`
	job := imported(t, s, token, body, file)
	all := apptest.JSON[api.Page[imports.Fault]](t, s.Get(t, token, "/api/v1/imports/"+job.ID+"/errors").Must(t, 200))
	if counts(job) != "DONE 1/0/0/2" || len(all.Items) != 2 || all.Items[0].Column != "fare" || all.Items[0].Line != 2 ||
		all.Items[1].Column != "completedAt" {
		t.Fatalf("%s %+v", counts(job), all.Items)
	}
	tn := s.Tenant("metro")
	it, err := tn.Get(t.Context(), trip.Key(tn, trip.FormerID(tn, "taxi 3")))
	testkit.Must(t, err)
	tr, err := trip.FromItem(it)
	testkit.Must(t, err)
	if tr.OriginAddress != "Hauptstr. 5" || tr.PaymentType != "CARD" || tr.Status != trip.Cancelled {
		t.Errorf("the ride is %+v", tr)
	}
	for _, wrong := range []string{`["nothing"]`, `["colour=Farbe"]`, `["tripId={A"]`, `["tripId=A","tripId=B"]`,
		`["tripId={A|b}"]`} {
		a := s.Post(t, token, "/api/v1/imports", `{"kind":"trips","map":`+wrong+`}`)
		if a.Status != 400 || !strings.Contains(string(a.Body), "body.map") {
			t.Errorf("%s: %d %s", wrong, a.Status, a.Body)
		}
	}
	missing := imported(t, s, token, `{"kind":"customers","map":["name=Wer"]}`, []byte("email\na@metro.example\n"))
	if missing.Status != imports.Failed || !strings.Contains(*missing.Error, `"Wer"`) {
		t.Errorf("%s %v", counts(missing), missing.Error)
	}
}

// TestPhonesAndAddressesAlike: what an import refuses of phones and mail addresses, the API
// refuses too. A phone of an older build that nobody may type now does not block a change.
func TestPhonesAndAddressesAlike(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	rider, dan := s.Rider(t, "metro", "anna"), s.Driver(t, "metro", "dan")
	const two = `{"phone":"555-0181/555-0182"}`
	for path, token := range map[string]string{"/api/v1/me": s.Token(t, rider), "/api/v1/drivers/" + dan.ID: boss} {
		a := s.Patch(t, token, path, two)
		if a.Status != 400 || !strings.Contains(string(a.Body), "several") {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		s.Patch(t, token, path, `{"phone":"+44 20 7946 0958 ext. 12"}`).Must(t, 200)
	}
	for _, address := range []string{"mailto:new@metro.example", "new@metro.example>", "a@b.example,c"} {
		_, err := customer.Store.Create(t.Context(), s.Tenant("metro"), s.By(), customer.Record{Customer: customer.Customer{
			Name: "New", Email: address}}, "")
		if err == nil || !strings.Contains(err.Error(), "expected a mail address") {
			t.Errorf("%s: %v", address, err)
		}
	}
	old, err := customer.Store.ByID(t.Context(), s.Tenant("metro"), rider.ID)
	testkit.Must(t, err)
	number := "555-0181/555-0182"
	old.Phone = &number
	it := customer.Item(s.Tenant("metro"), old, 1)
	read, err := s.Tenant("metro").Get(t.Context(), it.Key)
	testkit.Must(t, err)
	it.Version, it.Preserve = read.Version, read.Unknown()
	testkit.Must(t, s.Tenant("metro").Load(t.Context(), it))
	s.Patch(t, s.Token(t, rider), "/api/v1/me", `{"lastName":"Other"}`).Must(t, 200)
}

// TestExportWithMark: an export may begin with a byte order mark, only as CSV.
func TestExportWithMark(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	if text := made(t, s, boss, `{"kind":"drivers","bom":true,"columns":["id"]}`); !strings.HasPrefix(text, "\ufeffid\r\n") {
		t.Errorf("the file is %q", text)
	}
	if text := made(t, s, boss, `{"kind":"drivers","columns":["id"]}`); !strings.HasPrefix(text, "id\r\n") {
		t.Errorf("the file is %q", text)
	}
	s.Post(t, boss, "/api/v1/exports", `{"kind":"drivers","bom":true,"format":"ndjson"}`).Must(t, 400)
}
