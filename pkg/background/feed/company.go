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

// deletions tell of the deletion of an item, by its type. The deletion of an item of
// another type is no change that somebody made, or another event tells of it.
var deletions = map[string]func(subject, *result){
	"trip": deletedTrip, "service": deletedSetting, "zone": deletedSetting, "membership": deletedMember,
}

// deletedStatus is the status after a deletion.
const deletedStatus = "DELETED"

func (s subject) deleted(out *result, kind, resource string, d event.Data) {
	d.Status = deletedStatus
	out.appendEvent(kind, resource, "deleted#"+strconv.FormatInt(out.next.Events+1, 10), timestamp.Format(s.now), d)
}

func deletedTrip(s subject, out *result) {
	t, err := trip.FromItem(s.item)
	if err != nil { // of a dead letter: only the key is left
		t.ID = lastPart(s.item.PK)
	}
	s.deleted(out, "trip.deleted", t.ID, event.Data{TripID: t.ID, CustomerID: t.CustomerID,
		DriverID: codec.OrZero(t.DriverID), PreviousStatus: string(t.Status)})
}

func deletedSetting(s subject, out *result) {
	resource, d := settingOf(s.item)
	s.deleted(out, "settings.updated", resource, d)
}

func deletedMember(s subject, out *result) {
	id := lastPart(s.item.PK)
	s.deleted(out, "member.deleted", id, event.Data{MemberID: id})
}

func ofBusiness(s subject) (result, error) {
	b, err := delivery.BusinessKind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	return s.state("business", b.ID, "", shortHash(b.Managed()), "", event.Data{BusinessID: b.ID}), nil
}

func ofMenuItem(s subject) (result, error) {
	m, err := delivery.MenuKind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	d := event.Data{MenuItemID: m.ID, BusinessID: lastPart(s.item.PK)}
	return s.state("menu_item", m.ID, "", shortHash(m), "", d), nil
}

// ofDocument tells of a driver's document, and of nothing that it contains.
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

func ofMember(s subject) (result, error) {
	m, err := person.MemberKind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	return s.state("member", m.PersonID, "", shortHash(m), "", event.Data{MemberID: m.PersonID}), nil
}

// ofCompany tells that the tenant's record changed, but nothing of its creation: nobody
// reads the feed of a company that does not exist yet.
func ofCompany(s subject) (result, error) {
	n, err := tenant.Kind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	n.ReadShards, n.WriteShards = 0, 0 // how the table is divided concerns nobody else
	out := result{next: s.was}
	out.next.Sum = shortHash(n)
	if s.was.Sum != "" && s.was.Sum != out.next.Sum {
		out.appendEvent("company.updated", event.Company, strconv.FormatInt(s.was.Events+1, 10), timestamp.Format(s.now),
			event.Data{})
	}
	return out, nil
}

func ofPrivacy(s subject) (result, error) {
	r, err := privacy.Kind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	d := event.Data{RequestID: r.ID, CustomerID: codec.OrZero(r.CustomerID), DriverID: codec.OrZero(r.DriverID)}
	return s.state("privacy_request", r.ID, string(r.Status), "asked", "", d), nil
}
