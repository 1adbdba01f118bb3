package feed

import (
	"strconv"
	"strings"

	"svc/pkg/base/codec"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/event"
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/person"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// deletions has, for a type of item, the function that appends the event of an item's
// deletion. For other types there is no such event: nobody deletes them on request, or
// another event reports it.
var deletions = map[string]func(subject, *result){
	"trip": deletedTrip, "service": deletedSetting, "zone": deletedSetting, "membership": deletedMember,
}

// deletedStatus is the status in the event that an item was deleted.
const deletedStatus = "DELETED"

// deleted appends an event of the kind, such as "trip.deleted", with the status DELETED.
func (s subject) deleted(out *result, kind, resource string, d event.Data) {
	d.Status = deletedStatus
	out.appendEvent(kind, resource, "deleted#"+strconv.FormatInt(out.next.Events+1, 10), timestamp.Format(s.now), d)
}

// deletedTrip appends the event that a trip was deleted.
func deletedTrip(s subject, out *result) {
	t, err := trip.FromItem(s.item)
	if err != nil { // an item from a dead letter has only its key
		t.ID = lastPart(s.item.PK)
	}
	s.deleted(out, "trip.deleted", t.ID, event.Data{TripID: t.ID, CustomerID: t.CustomerID,
		DriverID: codec.OrZero(t.DriverID), PreviousStatus: string(t.Status)})
}

// deletedSetting appends the event that a service type or zone was deleted.
func deletedSetting(s subject, out *result) {
	resource, d := settingOf(s.item)
	s.deleted(out, "settings.updated", resource, d)
}

// deletedMember appends the event that an operator's membership ended.
func deletedMember(s subject, out *result) {
	id := lastPart(s.item.PK)
	s.deleted(out, "member.deleted", id, event.Data{MemberID: id})
}

// ofBusiness returns the events of a business that the feed lacks.
func ofBusiness(s subject) (result, error) {
	b, err := delivery.BusinessKind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	return s.state("business", b.ID, "", shortHash(b.Managed()), "", event.Data{BusinessID: b.ID}), nil
}

// ofMenuItem returns the events of a menu item that the feed lacks.
func ofMenuItem(s subject) (result, error) {
	m, err := delivery.MenuKind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	d := event.Data{MenuItemID: m.ID, BusinessID: lastPart(s.item.PK)}
	return s.state("menu_item", m.ID, "", shortHash(m), "", d), nil
}

// ofDocument returns the events of a driver's document that the feed lacks. The events
// have nothing of the document's contents.
func ofDocument(s subject) (result, error) {
	doc, err := fleet.DocumentKind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	d := event.Data{DocumentID: doc.ID, DriverID: lastPart(strings.TrimSuffix(s.item.PK, "#DOCUMENTS"))}
	status := codec.OrZero(doc.State)
	doc.State, doc.UpdatedAt = nil, ""
	return s.state("document", doc.ID, status, shortHash(doc), "", d), nil
}

// ofMember returns the events of an operator's membership that the feed lacks.
func ofMember(s subject) (result, error) {
	m, err := person.MemberKind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	return s.state("member", m.PersonID, "", shortHash(m), "", event.Data{MemberID: m.PersonID}), nil
}

// ofCompany returns an event if the tenant's record changed. It returns none for its
// creation: nobody reads the feed of a company that does not exist yet.
func ofCompany(s subject) (result, error) {
	n, err := tenant.Kind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	n.ReadShards, n.WriteShards = 0, 0 // no event for a change of how the table is divided
	out := result{next: s.was}
	out.next.Sum = shortHash(n)
	if s.was.Sum != "" && s.was.Sum != out.next.Sum {
		out.appendEvent("company.updated", event.Company, strconv.FormatInt(s.was.Events+1, 10), timestamp.Format(s.now),
			event.Data{})
	}
	return out, nil
}

// ofPrivacy returns the events of a request to export or erase a person that the feed
// lacks.
func ofPrivacy(s subject) (result, error) {
	r, err := privacy.Kind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	d := event.Data{RequestID: r.ID, CustomerID: codec.OrZero(r.CustomerID), DriverID: codec.OrZero(r.DriverID)}
	return s.state("privacy_request", r.ID, string(r.Status), "asked", "", d), nil
}
