package api

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fieldmark/fieldmark"
)

// deliveryAct is something that is done with a delivery.
type deliveryAct func(ctx context.Context, endpoint, id string) (fieldmark.DeliveryRecord, error)

// describeEvents writes the list of event types: each with the JSON Schema of
// its data, made from the Go type of the example, and a whole message.
func describeEvents() (document, error) {
	var types []fieldmark.EventTypeInfo
	for _, k := range fieldmark.WebhookEvents() {
		reg := huma.NewMapRegistry("#/$defs/", huma.DefaultSchemaNamer)
		reg.RegisterTypeAlias(reflect.TypeFor[fieldmark.Time](), reflect.TypeFor[time.Time]())
		root := reg.Schema(reflect.TypeOf(k.Example), true, "")
		open(reg, nil)
		for name, s := range reg.Map() {
			explainPatterns(s)
			allowNull(s, reg.TypeFromRef("#/$defs/"+name))
		}
		text, err := json.Marshal(struct {
			Dialect string                  `json:"$schema"`
			Ref     string                  `json:"$ref"`
			Defs    map[string]*huma.Schema `json:"$defs"`
		}{"https://json-schema.org/draft/2020-12/schema", root.Ref, reg.Map()})
		if err != nil {
			return document{}, fmt.Errorf("schema of %s: %w", k.Type, err)
		}
		example, err := k.ExampleEnvelope()
		if err != nil {
			return document{}, err
		}
		types = append(types, fieldmark.EventTypeInfo{Type: k.Type, Description: k.Does, Schema: text, Example: example})
	}
	b, err := encode(list(types))
	if err != nil {
		return document{}, err
	}
	return document{bytes: b, etag: etagOf(b)}, nil
}
