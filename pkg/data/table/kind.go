package table

// Kind declares a type of item, beside the function that makes its items:
//
//	var _ = table.Kind{Type: "vehicle", Personal: "nothing", Once: "vehicles are not edited"}
//
// docs/privacy.md and the tests of pkg/app read the declarations from the source, so
// every member is a literal.
type Kind struct {
	Type     string // Item.Type
	Personal string // what it tells of a rider or driver, beyond identifiers; or "nothing"
	Erasure  string // what the erasure of the rider or driver does with it; "" with "nothing"
	Once     string // why no put replaces such an item; "" if one does
}
