package estimate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
	"svc/pkg/domain/fare"
	"svc/pkg/domain/settings"
)

// route has the length of a ride in kilometres and its duration in seconds.
type route struct {
	kilometres, seconds decimal.Decimal
	routed              bool // a routing engine measured it
}

// Bounds of a request to a routing engine.
const (
	routingTime = 1500 * time.Millisecond
	routingSize = 256 << 10 // bytes of the response
)

// measured returns the route of the journey as the company's routing engine measures it.
// If there is no engine, or if it fails, the route is that of straight. The error says why
// the engine failed; the caller logs it, and the route is valid all the same.
func measured(ctx context.Context, client http.RoundTripper, r settings.Routing, j Journey) (route, error) {
	var failed error
	if r.URL != nil {
		found, err := measureRoute(ctx, client, r, j)
		if err == nil {
			return found, nil
		}
		failed = fmt.Errorf("routing engine: %w", err)
	}
	return straight(r, j), failed
}

// straight estimates a route without a routing engine: the great-circle distance times
// the company's detour factor, driven at its average speed. It takes the earth for a
// sphere, which is wrong by at most half a percent.
func straight(r settings.Routing, j Journey) route {
	const radius = 6371.0088 // kilometres, the mean radius (IUGG)
	radians := func(n json.Number) float64 { f, _ := n.Float64(); return f * math.Pi / 180 }
	lat1, lat2 := radians(j.OriginLat), radians(j.DestLat)
	half := func(x float64) float64 { s := math.Sin(x / 2); return s * s }
	h := half(lat2-lat1) + math.Cos(lat1)*math.Cos(lat2)*half(radians(j.DestLng)-radians(j.OriginLng))
	line := decimal.NewFromFloat(2 * radius * math.Asin(math.Sqrt(min(1, h)))).RoundBank(6)
	kilometres := line.Mul(r.DetourFactor.Decimal()).RoundBank(3)
	hours := kilometres.DivRound(r.AverageSpeed.Decimal(), 9)
	return route{kilometres: kilometres, seconds: hours.Mul(decimal.NewFromInt(3600)).RoundBank(0)}
}

// Straight returns the estimated fare of the journey j with the service type s, by the
// straight line (straight). It asks no routing engine. The fare is nil if the service type
// has no prices.
func Straight(s settings.ServiceType, d settings.Document, j Journey, currency string) *money.Amount {
	r := straight(d.Routing, j)
	prices := PricesOf(s, d.Pricing)
	amount, ok := prices.Of(fare.Measures{Kilometres: &r.kilometres, Seconds: &r.seconds}, currency)
	if prices.Snapshot() == "" || !ok {
		return nil
	}
	return money.Ptr(amount)
}

// measureRoute asks the company's routing engine for the route. The engine's address comes
// from the company, so it is not trusted: client must allow https, port 443 and public
// addresses only. Redirects are not followed.
func measureRoute(ctx context.Context, client http.RoundTripper, r settings.Routing, j Journey) (route, error) {
	ctx, cancel := context.WithTimeout(ctx, routingTime)
	defer cancel()
	q, err := request(ctx, r, j)
	if err != nil {
		return route{}, err
	}
	q.Header.Set("Accept", "application/json")
	res, err := client.RoundTrip(q) // follows no redirect
	if err != nil {
		return route{}, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return route{}, fmt.Errorf("status %d", res.StatusCode)
	}
	var answer struct {
		Routes []struct{ Distance, Duration json.Number } // OSRM: metres and seconds
		Trip   struct {
			Units   string
			Summary struct{ Length, Time json.Number } // Valhalla: kilometres and seconds
		}
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, routingSize)).Decode(&answer); err != nil {
		return route{}, err
	}
	if r.Engine == settings.Valhalla {
		return routeOf(answer.Trip.Summary.Length, answer.Trip.Summary.Time, 0)
	}
	if len(answer.Routes) == 0 {
		return route{}, errors.New("no route")
	}
	return routeOf(answer.Routes[0].Distance, answer.Routes[0].Duration, -3)
}

// request returns the HTTP request for the route of a journey, in the form that the
// company's engine expects: OSRM or Valhalla.
func request(ctx context.Context, r settings.Routing, j Journey) (*http.Request, error) {
	base := strings.TrimSuffix(*r.URL, "/")
	if r.Engine != settings.Valhalla {
		address := fmt.Sprintf("%s/route/v1/driving/%s,%s;%s,%s?overview=false", base, j.OriginLng, j.OriginLat, j.DestLng,
			j.DestLat)
		return http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	}
	body := fmt.Sprintf(`{"locations":[{"lat":%s,"lon":%s},{"lat":%s,"lon":%s}],"costing":"auto","units":"kilometers",`+
		`"directions_type":"none"}`, j.OriginLat, j.OriginLng, j.DestLat, j.DestLng)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/route", bytes.NewReader([]byte(body)))
	if err == nil {
		q.Header.Set("Content-Type", "application/json")
	}
	return q, err
}

// farthest and longest bound a route: 80,000 kilometres, which is twice around the earth,
// and thirty days in seconds.
var farthest, longest = decimal.NewFromInt(80_000), decimal.NewFromInt(30 * 24 * 3600)

// routeOf converts and checks the distance and the duration, in seconds, that an engine
// returned. The distance times 10^shift is in kilometres.
func routeOf(distance, duration json.Number, shift int32) (route, error) {
	d, err := money.Parse(distance)
	s, err2 := money.Parse(duration)
	if err := errors.Join(err, err2); err != nil {
		return route{}, err
	}
	d, s = d.Shift(shift).RoundBank(3), s.RoundBank(0)
	if d.IsNegative() || s.IsNegative() || d.GreaterThan(farthest) || s.GreaterThan(longest) {
		return route{}, fmt.Errorf("%s km in %s s is no route", d, s)
	}
	return route{d, s, true}, nil
}
