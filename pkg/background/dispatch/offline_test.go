package dispatch_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/testkit"
	"svc/pkg/background/dispatch"
	"svc/pkg/domain/driver"
)

// TestOffersEndOffline: the offer of a driver who goes offline ends, and the next driver gets
// it. A driver who is BUSY, or who is back before the message arrives, keeps an offer.
func TestOffersEndOffline(t *testing.T) {
	w := newWorld(t, nil)
	first, second := w.driver(1), w.driver(2)
	both, id := []string{first, second}, w.trip()
	w.step(id)
	w.wantHolders(id, "at first", both, []string{first})
	status := func(to string) (sent []dispatch.Message) {
		t.Helper()
		was, err := w.tn.Get(t.Context(), driver.Key(w.tn, first))
		testkit.Must(t, err)
		w.Want(http.StatusOK, nil, http.MethodPatch, "/api/v1/me/status", w.tokens[first], `{"status": "`+to+`"}`)
		now, err := w.tn.Get(t.Context(), driver.Key(w.tn, first))
		testkit.Must(t, err)
		oldImage, newImage := image(was), image(now)
		oldImage["status"], newImage["status"] = events.NewStringAttribute(was.Text("status")),
			events.NewStringAttribute(now.Text("status"))
		feed := dispatch.Feed{DB: w.db, Send: func(_ context.Context, all []dispatch.Message) error {
			sent = append(sent, all...)
			return nil
		}}
		if failed := feed.Process(t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{
			EventName: "MODIFY", Change: events.DynamoDBStreamRecord{SequenceNumber: "1", OldImage: oldImage,
				NewImage: newImage}}}}); len(failed) > 0 {
			t.Fatalf("%+v", failed)
		}
		return sent
	}
	if sent := status(driver.Busy); len(sent) > 0 {
		t.Errorf("BUSY: %v", sent)
	}
	late := status(driver.Offline)
	if len(late) != 1 {
		t.Fatalf("OFFLINE: %v", late)
	}
	status(driver.Online)
	testkit.Must(t, w.worker.Handle(t.Context(), late[0]))
	w.wantHolders(id, "back again", both, []string{first})
	sent := status(driver.Offline)
	for range 2 { // the queue may deliver a message again
		testkit.Must(t, w.worker.Handle(t.Context(), sent[0]))
	}
	w.wantHolders(id, "offline", both, []string{second})
}
