package settings_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/data/audit"
	"svc/pkg/domain/settings"
	"svc/pkg/edge/api"
)

// TestLongBodies: a zone may have a body of 512 KiB, so 5,000 positions with many digits fit
// into it. A service type may have one of 64 KiB.
func TestLongBodies(t *testing.T) {
	s, token := editor(t)
	at := make([]string, 5000)
	for i := range at {
		angle := 2 * math.Pi * float64(i) / float64(len(at)-1)
		at[i] = fmt.Sprintf("[%.17f, %.17f]", -73.9+0.1*math.Cos(angle), 40.7+0.1*math.Sin(angle))
	}
	at[len(at)-1] = at[0]
	body := `{"name":"Round","area":{"type":"Polygon","coordinates":[[` + strings.Join(at, ", ") + `]]}}`
	body += strings.Repeat(" ", 512<<10-len(body))
	var made settings.Zone
	s.Want(http.StatusCreated, &made, "POST", "/api/v1/zones", token, body)
	s.Want(http.StatusOK, nil, "PATCH", "/api/v1/zones/"+made.ID, token, body[:len(body)-1])
	for path, size := range map[string]int{"/api/v1/zones": 512 << 10, "/api/v1/services": 64 << 10} {
		if a := s.Do("POST", path, token, strings.Repeat(" ", size+1)); a.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s with %d bytes: %d %s", path, size+1, a.Status, a.Body)
		}
		if a := s.Do("POST", path, token, strings.Repeat(" ", size)); a.Status != http.StatusBadRequest {
			t.Errorf("%s with %d bytes: %d %s", path, size, a.Status, a.Body)
		}
	}
	s.Want(http.StatusOK, nil, "DELETE", "/api/v1/zones/"+made.ID, token, "")
}

// TestZonesByPages: a limit that the caller names has a cursor, and the list without a limit
// is as it was.
func TestZonesByPages(t *testing.T) {
	s, tn, token := stand(t)
	area, err := settings.Box("13", "52", "14", "53")
	testkit.Must(t, err)
	for i := range 5 {
		by := audit.By{Who: "svc:test", At: apitest.Start.Add(time.Duration(i) * time.Second)}
		_, err := settings.AddZone(t.Context(), tn, by, settings.Zone{Name: fmt.Sprint(i), Area: area})
		testkit.Must(t, err)
	}
	var names []string
	for cursor := ""; ; {
		var page api.Cut[settings.Zone]
		s.Want(http.StatusOK, &page, "GET", "/api/v1/zones?limit=2"+cursor, token, "")
		for _, z := range page.Items {
			names = append(names, z.Name)
		}
		if page.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *page.NextCursor
	}
	if strings.Join(names, "") != "01234" {
		t.Errorf("%v", names)
	}
	if a := s.Want(http.StatusOK, nil, "GET", "/api/v1/zones", token, ""); strings.Contains(a.Body, "next_cursor") {
		t.Errorf("%s", a.Body)
	}
}
