package h2_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/fieldmark/fieldmark/edge/conn/h2"
)

// FuzzFrames compares the frames that a connection finds in bytes with those of x/net.
func FuzzFrames(f *testing.F) {
	var b bytes.Buffer
	framer := http2.NewFramer(&b, nil)
	if err := errors.Join(framer.WriteSettings(http2.Setting{ID: 1, Val: 2}), framer.WritePing(true, [8]byte{1}),
		framer.WriteData(3, true, []byte("data")), framer.WriteWindowUpdate(5, 7)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-1])
	f.Add([]byte{0, 0x40, 1, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		got, whole := h2.Frames(in)
		r := bytes.NewReader(in)
		var header [9]byte
		for i := 0; ; i++ {
			_, err := io.ReadFull(r, header[:])
			var want http2.FrameHeader
			if err == nil {
				want, err = http2.ReadFrameHeader(bytes.NewReader(header[:]))
			}
			if err == nil && (want.Length > 16384 || int(want.Length) > r.Len()) {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				if i != len(got) || whole != errors.Is(err, io.EOF) {
					t.Fatalf("%x: %d frames, whole %v; x/net has %d, %v", in, len(got), whole, i, err)
				}
				return
			}
			payload := make([]byte, want.Length)
			if _, err := io.ReadFull(r, payload); err != nil {
				t.Fatal(err)
			}
			if i >= len(got) || got[i].Type != byte(want.Type) || got[i].Flags != byte(want.Flags) ||
				got[i].Stream != want.StreamID || !bytes.Equal(got[i].Payload, payload) {
				t.Fatalf("%x: frame %d is not %v", in, i, want)
			}
		}
	})
}

// FuzzAppendField encodes fields that the decoder of x/net must read as the same.
func FuzzAppendField(f *testing.F) {
	f.Add("server", "fieldmark")
	f.Add("set-cookie", "a=b")
	f.Add("x-"+strings.Repeat("long", 100), strings.Repeat("\x00", 300))
	f.Fuzz(func(t *testing.T, name, value string) {
		fields, err := hpack.NewDecoder(0, nil).DecodeFull(h2.AppendField(nil, name, value))
		if err != nil || len(fields) != 1 || fields[0].Name != name || fields[0].Value != value {
			t.Errorf("%q: %q is %v, %v", name, value, fields, err)
		}
		if sensitive := name == "set-cookie"; err == nil && fields[0].Sensitive != sensitive {
			t.Errorf("%q is sensitive: %v", name, !sensitive)
		}
	})
}
