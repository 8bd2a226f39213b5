package example

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The parts of examples that many members share.
// They have the form of real ones, so the examples can be sent as they are.
const (
	id     = "06m7xv8e0w3v3ac3zvc1h0gmw4" // of every object, after the prefix of its kind
	moment = "2026-11-22T09:30:00.000Z"
	digest = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
)

// Add gives the members of a schema their examples. Members that list their values, or that
// refer to another schema, need none.
// huma copies them into the OpenAPI document, from which pages and clients take them.
// It changes the schema in place, before the document is encoded.
func Add(name string, s *huma.Schema) {
	for member, p := range s.Properties {
		leaf := p
		if p.Type == huma.TypeArray && p.Items != nil {
			leaf = p.Items
		}
		// An example of a type itself comes first.
		if leaf.Ref != "" || leaf.Enum != nil || leaf.Examples != nil {
			continue
		}
		if v, ok := valueOf(name, member, leaf); ok {
			leaf.Examples = []any{v}
		}
	}
}

// valueOf returns the example of a member: its own, that of all members of the name, or that
// of its format.
// A value of another type than the member's is skipped: names are shared between types.
// The entry of one schema comes first, so that its member can differ from others of the name.
func valueOf(schema, member string, s *huma.Schema) (any, bool) {
	v, ok := values[schema+"."+member]
	if !ok {
		v, ok = values[member]
	}
	if ok && fits(v, s) {
		return v, true
	}
	switch {
	case member == "id" && s.Type == huma.TypeString:
		return idOf(schema), true
	case s.Format == "date-time":
		return moment, true
	case s.Format == "uri":
		return "https://acme.example/", true
	}
	return nil, false
}

// fits reports whether the type of an example is that of the schema, because members of one
// name can have different types.
func fits(v any, s *huma.Schema) bool {
	// An untyped literal in the table is an int or a float64.
	switch v.(type) {
	case string:
		return s.Type == huma.TypeString && s.Format != "date-time"
	case int:
		return s.Type == huma.TypeInteger || s.Type == huma.TypeNumber
	case float64:
		return s.Type == huma.TypeNumber
	case bool:
		return s.Type == huma.TypeBoolean
	}
	return s.Type == "" // any value
}

// idOf returns the id of an object of a kind: its prefix and 26 digits (Crockford's base 32).
// The prefix is the kind of an object, as in the ids of the service.
func idOf(schema string) string {
	for _, p := range prefixes {
		if strings.Contains(schema, p.part) {
			return p.prefix + "_" + id
		}
	}
	return id
}

// prefixes of ids by a part of the name of the schema; the first that matches counts.
// The order matters where one name is part of another, as with MissionPayment and Payment.
var prefixes = []struct{ part, prefix string }{
	{"Access", "arq"}, {"Calendar", "cal"}, {"BrandRequest", "brq"}, {"Claim", "clm"}, {"Delivery", "dlv"},
	{"Dispute", "dsp"},
	{"Endpoint", "whk"}, {"Envelope", "evt"}, {"PolledEvent", "evt"}, {"MissionPayment", "pay"},
	{"Payment", "pay"}, {"Refund", "rfd"}, {"Replay", "rpl"}, {"SiteCheck", "chk"}, {"Key", "key"},
	{"Note", "nte"}, {"Attachment", "att"}, {"Account", "acc"}, {"Mission", "msn"},
}

// Path returns the example of a parameter of a path; "" if it has none.
// The description of an operation needs values of its path for a command that can be copied.
func Path(path, name string) string {
	before, _, _ := strings.Cut(path, "{"+name+"}")
	for _, p := range paths {
		if name == p.name && strings.Contains(before, p.part) {
			return p.value
		}
	}
	return ""
}

// paths are the examples of parameters by a part of the path before them; the first that
// matches counts.
// An entry with an empty part matches everywhere, so it comes after the special ones.
var paths = []struct{ name, part, value string }{
	{"id", "/calendars/", "cal_" + id}, {"id", "/brand-requests/", "brq_" + id}, {"id", "/claims/", "clm_" + id},
	{"id", "/disputes/", "dsp_" + id}, {"id", "/webhooks/", "whk_" + id}, {"id", "/payments/", "pay_" + id},
	{"id", "/checks/", "chk_" + id}, {"id", "/signing-keys/", "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"},
	{"id", "/access-requests/", "arq_" + id}, {"id", "/keys/", "key_" + id}, {"id", "/missions/", "msn_" + id},
	{"account", "", "acc_" + id}, {"delivery", "", "dlv_" + id}, {"digest", "", digest}, {"note", "", "nte_" + id},
	{"attachment", "", "att_" + id},
	{"name", "/sla/", "business"}, {"name", "/certificates/", "geo.example"}, {"priority", "", "HIGH"},
	{"slug", "", "acme"}, {"id", "/offers/", "standard"}, {"id", "/sub-accounts/", "acme.shop"},
	{"key", "", "key_" + id},
}
