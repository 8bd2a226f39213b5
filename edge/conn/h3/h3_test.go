package h3_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/h3"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
)

// FuzzH3Frames compares the frames that a stream finds in bytes, whole and in pieces, with
// those that are read one integer at a time.
func FuzzH3Frames(f *testing.F) {
	frames := func(parts ...[]byte) (all []byte) {
		for i, p := range parts {
			all = append(quicvarint.Append(quicvarint.Append(all, uint64(i*i)), uint64(len(p))), p...)
		}
		return all
	}
	f.Add(frames([]byte("data"), nil, bytes.Repeat([]byte("x"), 300)))
	f.Add(frames([]byte("cut off"))[:5])
	f.Add([]byte{0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x40})
	f.Fuzz(func(t *testing.T, in []byte) {
		var want []h3.Frame
		cut := false
		for r := bytes.NewReader(in); r.Len() > 0; {
			typ, err := quicvarint.Read(r)
			var length uint64
			if err == nil {
				length, err = quicvarint.Read(r)
			}
			if err != nil || length > uint64(r.Len()) {
				cut = true
				break
			}
			payload := make([]byte, length)
			_, _ = io.ReadFull(r, payload)
			want = append(want, h3.Frame{Type: typ, Payload: payload})
		}
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(in),
			"bytes": iotest.OneByteReader(bytes.NewReader(in)), "last": iotest.DataErrReader(bytes.NewReader(in))} {
			got, err := h3.Frames(r)
			if len(got) != len(want) || cut == errors.Is(err, io.EOF) {
				t.Fatalf("%x, %s: %d frames, %v; want %d, cut off: %v", in, name, len(got), err, len(want), cut)
			}
			for i := range got {
				if got[i].Type != want[i].Type || !bytes.Equal(got[i].Payload, want[i].Payload) {
					t.Fatalf("%x, %s: frame %d is %v, want %v", in, name, i, got[i], want[i])
				}
			}
		}
	})
}

// FuzzQPACK decodes any bytes: what is kept is bounded, and is what the library decodes.
func FuzzQPACK(f *testing.F) {
	var block bytes.Buffer
	enc := qpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", "GET"}, {":path", "/api/badge/acme"}, {"x", "y"}} {
		if err := enc.WriteField(qpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(block.Bytes())
	f.Add(append([]byte{0, 0}, bytes.Repeat([]byte{0xc0 | 31}, 2000)...))
	f.Add([]byte{2, 0, 0x10})
	f.Add([]byte{0, 0, 0x27, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, in []byte) {
		list, err := h3.Decode(in)
		if len(list.Fields) > framing.MaxFields+1 || list.Size > mux.MaxBlock+64*len(in)+64 {
			t.Errorf("%x: %d fields, %d bytes", in, len(list.Fields), list.Size)
		}
		if err != nil {
			return
		}
		next := qpack.NewDecoder().Decode(in)
		for i, field := range list.Fields {
			want, err := next()
			if err != nil || want.Name != field.Name || want.Value != field.Value {
				t.Errorf("%x: field %d is %v, want %v %v", in, i, field, want, err)
			}
		}
	})
}

// FuzzAppendField encodes fields that the library must decode as the same.
func FuzzAppendField(f *testing.F) {
	f.Add("server", "fieldmark")
	f.Add("set-cookie", "a=b")
	f.Add("x-content-type-options", "nosniff")
	f.Add("x-"+strings.Repeat("long", 100), strings.Repeat("\x00", 300))
	f.Fuzz(func(t *testing.T, name, value string) {
		next := qpack.NewDecoder().Decode(h3.AppendField([]byte{0, 0}, name, value))
		got, err := next()
		if err != nil || got.Name != name || got.Value != value {
			t.Errorf("%q: %q is %v, %v", name, value, got, err)
		}
		if _, err := next(); !errors.Is(err, io.EOF) {
			t.Errorf("%q: %q is followed by %v", name, value, err)
		}
	})
}

// TestStaticFields checks that fields of the static table take a byte or two, and that a
// proxy may not index Set-Cookie.
func TestStaticFields(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        []byte
	}{
		{":status", "200", []byte{0xc0 | 25}},
		{"x-content-type-options", "nosniff", []byte{0xc0 | 61}},
		{"age", "1", []byte{0x50 | 2, 1, '1'}},
		{"set-cookie", "1", []byte{0x70 | 14, 1, '1'}},
	} {
		if got := h3.AppendField(nil, tt.name, tt.value); !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %s is %x, want %x", tt.name, tt.value, got, tt.want)
		}
	}
}
