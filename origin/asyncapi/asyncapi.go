package asyncapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// object is a JSON object. Its members are encoded in alphabetical order, so that equal
// documents have equal bytes.
type object = map[string]any

// openAPI is the part of an OpenAPI document that the description needs.
type openAPI struct {
	Info     struct{ Version string }
	Webhooks map[string]struct {
		Post struct {
			Summary     string
			Parameters  []parameter
			RequestBody struct {
				Content map[string]struct {
					Schema, Example json.RawMessage
				}
			}
		}
	}
	Components struct{ Schemas map[string]json.RawMessage }
}

// parameter is a header field of a message.
type parameter struct {
	Name, Description string
	Required          bool
	Schema            json.RawMessage
}

// jsonType is the media type of the messages that are described: the envelope of Standard
// Webhooks, which endpoints receive unless they choose CloudEvents.
const jsonType = "application/json"

// reference matches references to the schemas of components, which have the same place in
// both kinds of documents.
var reference = regexp.MustCompile(`"#/components/schemas/([^"]+)"`)

// FromOpenAPI returns the AsyncAPI document of the webhooks in an OpenAPI document. PollPath is
// the path that returns the same messages to clients that poll.
// Both documents describe the same messages, so neither is written by hand.
func FromOpenAPI(raw []byte, pollPath string) ([]byte, error) {
	var doc openAPI
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	if len(doc.Webhooks) == 0 {
		return nil, errors.New("the OpenAPI document has no webhooks")
	}
	b := builder{doc: &doc, schemas: object{}, messages: object{}}
	// Sorted, because JSON objects have no order and the document must not change between
	// starts.
	for _, name := range slices.Sorted(maps.Keys(doc.Webhooks)) {
		if err := b.addMessage(name); err != nil {
			return nil, err
		}
	}
	return encode(b.document(pollPath))
}

// builder collects the messages and the schemas that they refer to.
type builder struct {
	doc      *openAPI
	schemas  object
	messages object
}

func (b *builder) addMessage(name string) error {
	post := b.doc.Webhooks[name].Post
	body := post.RequestBody.Content[jsonType]
	if body.Schema == nil || body.Example == nil {
		return fmt.Errorf("webhook %s: no schema or example of %s", name, jsonType)
	}
	if b.schemas[headersName] == nil {
		b.schemas[headersName] = headersOf(post.Parameters)
	}
	b.addSchemas(body.Schema)
	b.messages[name] = object{
		"name": name, "title": name, "summary": post.Summary, "contentType": jsonType,
		"headers": ref("schemas", headersName), "payload": body.Schema,
		"examples": []object{{"name": name, "payload": body.Example}},
	}
	return nil
}

// addSchemas adds every schema that a schema refers to, and those that these refer to.
func (b *builder) addSchemas(schema json.RawMessage) {
	for _, m := range reference.FindAllSubmatch(schema, -1) {
		name := string(m[1])
		if target, ok := b.doc.Components.Schemas[name]; ok && b.schemas[name] == nil {
			b.schemas[name] = target
			b.addSchemas(target)
		}
	}
}

// headersName is the name of the schema of the header fields, which all messages have.
const headersName = "WebhookHeaders"

func headersOf(all []parameter) object {
	properties, required := object{}, []string{}
	for _, p := range all {
		member := object{}
		_ = json.Unmarshal(p.Schema, &member) // an invalid schema leaves a member without a type
		member["description"] = p.Description
		properties[p.Name] = member
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

func (b *builder) document(pollPath string) object {
	// An operation refers to the messages of its channel, a channel to those of components.
	channel := func(title, description string, address any) object {
		messages := object{}
		for name := range b.messages {
			messages[name] = ref("messages", name)
		}
		return object{"address": address, "title": title, "description": description, "messages": messages}
	}
	operation := func(channel, summary, description, method string) object {
		messages := []object{}
		for _, name := range slices.Sorted(maps.Keys(b.messages)) {
			messages = append(messages, object{"$ref": "#/channels/" + channel + "/messages/" + name})
		}
		return object{"action": "send", "channel": object{"$ref": "#/channels/" + channel}, "summary": summary,
			"description": description, "messages": messages,
			"bindings": object{"http": object{"method": method, "bindingVersion": "0.3.0"}}}
	}
	return object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": "Fieldmark webhooks", "version": b.doc.Info.Version,
			"description": "The messages that Fieldmark sends to webhook endpoints. The OpenAPI document describes " +
				"the rest of the API.",
			"license": object{"name": "Apache 2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		"defaultContentType": jsonType,
		"channels": object{
			"deliveries": channel("Deliveries", "The address of a webhook endpoint, which the receiver chooses.", nil),
			"events": channel("Events", "The log of the events of an account, for clients that poll. Each event "+
				"has its `number` in addition, and no header fields.", pollPath),
		},
		"operations": object{
			"deliver": operation("deliveries", "Send an event to an endpoint.", "Each message is signed (Standard "+
				"Webhooks 1.0). Any 2xx accepts it, 410 disables the endpoint, and anything else has it sent again. "+
				"An endpoint can choose CloudEvents 1.0 instead of this envelope, or only the id as data.", "POST"),
			"poll": operation("events", "Return the events after a number.", "The response has up to 500 events "+
				"in `data`, and in `next` the number to continue from.", "GET"),
		},
		"components": object{"messages": b.messages, "schemas": b.schemas},
	}
}

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

// encode indents the document, so that a golden file shows a change line by line.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}
