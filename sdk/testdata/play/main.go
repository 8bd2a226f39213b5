// Command play plays a scenario with the Go client: play SCENARIO VARIABLES, both JSON files.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/client"
)

type step struct {
	Name, Base, Call string
	Args             []any
	Timeout          float64 // in seconds
	Repeat           any
	Want             any
	Error            fieldmark.Code
	Save             map[string]string
}

func main() {
	var steps []step
	var variables map[string]any
	read(os.Args[1], &steps)
	read(os.Args[2], &variables)
	failed := false
	for _, s := range steps {
		base, _ := fill(s.Base, variables).(string)
		c, err := client.New(client.Config{BaseURL: variables["url"].(string) + base, Key: variables["key"].(string),
			Timeout: time.Duration(s.Timeout * float64(time.Second))})
		if err != nil {
			panic(err)
		}
		repeat, ok := fill(s.Repeat, variables).(float64)
		if !ok {
			repeat = 1
		}
		var got any
		for n := range int(repeat) {
			variables["n"] = fmt.Sprintf("%s-%d", variables["player"], n)
			result, err := call(c, s.Call, fill(s.Args, variables).([]any))
			var code fieldmark.Code
			if err != nil {
				e := fieldmark.AsError(err)
				code, result = e.Code, e.Detail
			}
			got = plain(result)
			if code != s.Error || s.Want != nil && !matches(fill(s.Want, variables), got) {
				failed = true
				text, _ := json.Marshal(got)
				fmt.Printf("%s: %v %.2000s\n", s.Name, err, text)
			}
		}
		for name, path := range s.Save {
			variables[name] = at(got, path)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// call makes a call whose arguments are those of the JSON file.
func call(c *client.Client, name string, args []any) (any, error) {
	ctx := context.Background()
	text := func(i int) string {
		if i < len(args) {
			if s, ok := args[i].(string); ok {
				return s
			}
		}
		return ""
	}
	switch name {
	case "open":
		return c.Open(ctx, arg[fieldmark.MissionRequest](args, 0), arg[*client.Write](args, 1))
	case "get":
		return c.Get(ctx, text(0))
	case "find":
		f := arg[map[string]any](args, 0)
		filter := fieldmark.MissionFilter{Source: plain(f["source"]).(string)}
		if limit, ok := f["limit"].(float64); ok {
			filter.Limit = int(limit)
		}
		return all(c.Find(ctx, filter))
	case "edit":
		return c.Edit(ctx, text(0), args[1], arg[*client.Write](args, 2))
	case "move":
		return c.Move(ctx, text(0), arg[client.Move](args, 1), arg[*client.Write](args, 2))
	case "cancel":
		return c.Cancel(ctx, text(0), arg[*fieldmark.Reason](args, 1), arg[*client.Write](args, 2))
	case "batch":
		return c.Batch(ctx, arg[[]fieldmark.MissionRequest](args, 0), arg[*client.Write](args, 1))
	case "endpoints":
		return c.Endpoints(ctx)
	case "deliveries":
		return all(c.Deliveries(ctx, text(0), fieldmark.DeliveryState(text(1))))
	case "replay":
		return c.Replay(ctx, text(0), arg[fieldmark.ReplayRequest](args, 1))
	case "poll":
		return all(c.Poll(ctx, arg[int64](args, 0),
			client.EventFilter{Types: arg[[]string](args, 1), Endpoint: text(2)}))
	case "score":
		return c.Score(ctx, fieldmark.Slug(text(0)))
	case "verify":
		h := http.Header{}
		for name, value := range arg[map[string]string](args, 1) {
			h.Set(name, value)
		}
		return client.VerifyWebhook([]byte(text(0)), h, text(2), 0)
	case "request":
		var in, out any
		if len(args) > 2 {
			in = args[2]
		}
		return &out, c.Do(ctx, text(0), text(1), in, &out, nil)
	}
	panic("no such call: " + name)
}

func all[T any](items iter.Seq2[T, error]) ([]T, error) {
	out := []T{}
	for one, err := range items {
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// arg decodes an argument, whose members have the names of the API.
func arg[T any](args []any, i int) (v T) {
	if i < len(args) {
		text, err := json.Marshal(args[i])
		if err == nil {
			err = json.Unmarshal(text, &v)
		}
		if err != nil {
			panic(err)
		}
	}
	return v
}

// plain returns a value as JSON has it.
func plain(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func read(path string, into any) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		panic(err)
	}
}

func fill(v any, variables map[string]any) any {
	switch v := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "$"); ok {
			return variables[name]
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fill(v[i], variables)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name := range v {
			out[name] = fill(v[name], variables)
		}
		return out
	}
	return v
}

func matches(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		items, _ := got.([]any)
		if some, ok := want["some"]; ok {
			for _, one := range items {
				if matches(some, one) {
					return true
				}
			}
			return false
		}
		if n, ok := want["length"]; ok {
			return n == float64(len(items))
		}
		object, ok := got.(map[string]any)
		for name := range want {
			value, present := object[name]
			ok = ok && present && matches(want[name], value)
		}
		return ok
	case []any:
		items, ok := got.([]any)
		ok = ok && len(items) == len(want)
		for i := range want {
			ok = ok && matches(want[i], items[i])
		}
		return ok
	}
	return reflect.DeepEqual(want, got)
}

// at returns a part of a value.
func at(v any, path string) any {
	for part := range strings.SplitSeq(path, "/") {
		switch object := v.(type) {
		case map[string]any:
			v = object[part]
		case []any:
			i, _ := strconv.Atoi(part)
			v = object[i]
		}
	}
	return v
}
